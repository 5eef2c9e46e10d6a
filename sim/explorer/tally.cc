#include "sim/explorer/tally.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace baton::chaos {
namespace {

// Faults that a person thinks of as one, for the short line.
struct FaultGroup {
  const char* name;
  std::vector<Fault> faults;
};

const std::vector<FaultGroup>& fault_groups() {
  static const std::vector<FaultGroup> kGroups{
      {"lost", {Fault::control_lost, Fault::notice_lost}},
      {"delayed", {Fault::control_delayed, Fault::notice_delayed}},
      {"overtaken", {Fault::control_overtaken, Fault::notice_overtaken}},
      {"twice", {Fault::control_duplicated, Fault::notice_duplicated}},
      {"torn", {Fault::record_torn}},
      {"write", {Fault::write_failed, Fault::write_late, Fault::write_torn, Fault::write_unheard, Fault::ghost_write}},
      {"crash", {Fault::crash}},
      {"freeze", {Fault::freeze}},
      {"cut", {Fault::partition}},
      {"slow", {Fault::slow, Fault::step_failed}},
      {"client", {Fault::client_abort, Fault::client_vanished}}};
  return kGroups;
}

std::string short_faults(const Tally& tally) {
  std::string text;
  for (const FaultGroup& group : fault_groups()) {
    std::uint64_t count = 0;
    for (const Fault fault : group.faults) {
      count += tally.faults[static_cast<std::size_t>(fault)];
    }
    if (count > 0) {
      text += fmt::format(" {} {}", group.name, short_count(count));
    }
  }
  return text.empty() ? " none" : text;
}

double rate(std::uint64_t count, double seconds) {
  return static_cast<double>(count) / std::max(seconds, 1e-3);
}

constexpr std::size_t kWidth = 100;
constexpr std::size_t kIndent = 34;

// "  heading   word, word, ..." over as many lines as it takes.
std::string wrapped(const std::string& heading, const std::vector<const char*>& words) {
  std::string text;
  std::string line = fmt::format("{:<{}}", heading, kIndent);
  const char* separator = "";
  for (const std::string_view word : words) {
    if (line.size() + word.size() + 2 > kWidth) {
      text += line + ",\n";
      line = std::string(kIndent, ' ');
      separator = "";
    }
    line += fmt::format("{}{}", separator, word);
    separator = ", ";
  }
  return text + line + "\n";
}

}  // namespace

void Tally::add(const RunReport& report) {
  ++seeds;
  requests += report.requests;
  finished += report.finished;
  failed += report.failed;
  for (std::size_t i = 0; i < kFaults; ++i) {
    faults[i] += report.faults[i];
  }
  coverage |= report.coverage;
}

std::string short_count(std::uint64_t count) {
  if (count < 1000) {
    return std::to_string(count);
  }
  double value = static_cast<double>(count);
  const char* unit = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (value < 999.5) {
      break;
    }
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

std::string progress_text(const Tally& tally, std::uint64_t total, double seconds) {
  return fmt::format("{}/{} seeds, {:.0f}/s, {} requests, faults:{}, states {}/{}", tally.seeds, total,
                     rate(tally.seeds, seconds), short_count(tally.requests), short_faults(tally),
                     cells_reached(tally.coverage), cells_possible());
}

std::string summary_text(const Tally& tally, double seconds) {
  std::string text = fmt::format("{} seeds in {:.1f} s ({:.0f}/s): {} requests, {} finished, {} failed\n", tally.seeds,
                                 seconds, rate(tally.seeds, seconds), tally.requests, tally.finished, tally.failed);
  text += fmt::format("{} of {} pairs of state and event reached\n", cells_reached(tally.coverage), cells_possible());
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (tally.faults[i] > 0) {
      text += fmt::format("  {:<20}{:>14}\n", to_string(static_cast<Fault>(i)), tally.faults[i]);
    }
  }
  return text;
}

std::size_t cells_reached(const Coverage& coverage) {
  return static_cast<std::size_t>(
      std::ranges::count_if(coverage_cells(), [&](const CoverageCell& cell) { return coverage.reached[cell.index]; }));
}

std::size_t cells_possible() {
  return static_cast<std::size_t>(
      std::ranges::count_if(coverage_cells(), [](const CoverageCell& cell) { return cell.why_not == nullptr; }));
}

std::string coverage_text(const Coverage& coverage) {
  const std::vector<CoverageCell>& cells = coverage_cells();
  std::string text;
  std::string_view machine;
  for (auto first = cells.begin(); first != cells.end();) {
    const auto other = [&](const CoverageCell& cell) {
      return std::string_view(cell.machine) != first->machine || std::string_view(cell.state) != first->state;
    };
    const auto end = std::find_if(first, cells.end(), other);
    std::vector<const char*> reached;
    std::vector<const char*> missed;
    std::map<std::string_view, std::vector<const char*>> impossible;  // by reason
    for (auto cell = first; cell != end; ++cell) {
      const bool cannot = cell->why_not != nullptr && !coverage.reached[cell->index];
      auto& list = cannot ? impossible[cell->why_not] : coverage.reached[cell->index] ? reached : missed;
      list.push_back(cell->event);
    }
    if (machine != first->machine) {
      machine = first->machine;
      text += fmt::format("{}\n", machine);
    }
    if (!reached.empty()) {
      text += wrapped(fmt::format("  {:<22}reached", first->state), reached);
    }
    if (!missed.empty()) {
      text += wrapped(fmt::format("  {:<22}not", reached.empty() ? first->state : ""), missed);
    }
    for (const auto& [reason, events] : impossible) {
      text += wrapped(fmt::format("  {:<22}cannot", reached.empty() && missed.empty() ? first->state : ""), events);
      text += fmt::format("{:34}({})\n", "", reason);
    }
    first = end;
  }
  return text + fmt::format("{} of {} pairs of state and event reached\n", cells_reached(coverage), cells_possible());
}

}  // namespace baton::chaos
