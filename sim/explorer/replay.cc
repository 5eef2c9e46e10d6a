#include "sim/explorer/replay.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/explorer/forked.h"
#include "sim/explorer/timeline.h"
#include "sim/explorer/trial.h"

namespace baton::chaos {
namespace {

std::string summary_of(const RunReport& report) {
  std::string text =
      fmt::format("{} requests, {} finished, {} failed, in {:.6g} s of virtual time; digest {:016x}\n", report.requests,
                  report.finished, report.failed, seconds(report.virtual_time), report.digest);
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (report.faults[i] > 0) {
      text += fmt::format("  {:<20}{:>8}\n", to_string(static_cast<Fault>(i)), report.faults[i]);
    }
  }
  return text;
}

std::string request_text(std::optional<std::uint32_t> request) {
  return request ? std::to_string(*request) : std::string();
}

std::optional<std::uint32_t> request_of(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(static_cast<std::uint32_t>(std::stoul(text)));
}

}  // namespace

Replay replay(const Scenario& scenario, const RunFunction& run, const ReplayOptions& options) {
  const auto work = [&]() -> std::vector<std::string> {
    const RunReport report = run(scenario, {.keep_history = true});
    const Finding finding = finding_of(report).value_or(Finding{});
    const std::optional<std::uint32_t> request = options.request ? options.request : finding.request;
    const std::vector<TraceEvent> events = events_of(report, request);
    return {finding.rule,
            finding.message,
            request_text(finding.request),
            request_text(request),
            summary_of(report),
            timeline_text(events, report.rooms),
            options.render ? options.render(events) : ""};
  };
  ForkedEnd end = run_forked(work, options.limit);
  Replay replay;
  if (end.how == ForkedEnd::How::timed_out) {
    replay.finding = endless_finding(options.limit);
  } else if (end.how == ForkedEnd::How::died) {
    replay.finding = Finding{kAbortRule, std::move(end.cause), std::move(end.place), {}};
  } else {
    if (!end.parts.at(0).empty()) {
      replay.finding = Finding{end.parts[0], end.parts.at(1), "", request_of(end.parts.at(2))};
    }
    replay.request = request_of(end.parts.at(3));
    replay.summary = std::move(end.parts.at(4));
    replay.timeline = std::move(end.parts.at(5));
    replay.rendered = std::move(end.parts.at(6));
  }
  return replay;
}

}  // namespace baton::chaos
