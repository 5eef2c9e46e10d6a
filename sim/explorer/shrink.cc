#include "sim/explorer/shrink.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/explorer/ddmin.h"
#include "sim/explorer/simpler.h"

namespace baton::chaos {
namespace {

class Shrinker final {
 public:
  Shrinker(Shrunk start, const TryFunction& attempt, const ShrinkOptions& options)
      : best_(std::move(start)), attempt_(attempt), options_(options) {}

  Shrunk run() {
    bool smaller = true;
    while (smaller) {
      const Scenario before = best_.scenario;
      drop_elements(&Scenario::clients);
      drop_elements(&Scenario::timed);
      drop_elements(&Scenario::script);
      drop_message_faults();
      drop_ranks();
      simplify_settings();
      simplify_clients();
      shorten_times();
      smaller = before != best_.scenario;
    }
    best_.complete = !stopped_;
    return best_;
  }

 private:
  // Keeps the candidate if the bug is still there.
  bool keep(const Scenario& candidate) {
    if (candidate == best_.scenario) {
      return false;
    }
    stopped_ = stopped_ || options_.stop();
    if (stopped_) {
      return false;
    }
    Trial trial = attempt_(candidate);
    ++best_.runs;
    const bool same = trial.finding && same_bug(*trial.finding, best_.finding);
    if (same) {
      best_.scenario = candidate;
      best_.finding = std::move(*trial.finding);
      injected_ = std::move(trial.injected);
    }
    if (options_.progress) {
      options_.progress(best_);
    }
    return same;
  }

  template <class Change>
  bool change(const Change& make) {
    Scenario candidate = best_.scenario;
    make(candidate);
    return keep(candidate);
  }

  template <class Element>
  void drop_elements(std::vector<Element> Scenario::* list) {
    ddmin(best_.scenario.*list,
          [&](const std::vector<Element>& rest) { return change([&](Scenario& next) { next.*list = rest; }); });
  }

  void drop_message_faults() {
    if (!has_message_faults(best_.scenario)) {
      return;
    }
    change([](Scenario& next) { clear_message_faults(next); });
    for (double* (*const rate)(Scenario&) : message_rates()) {
      change([&](Scenario& next) { *rate(next) = 0; });
    }
    if (injected_.empty()) {  // not known yet, or of a process that died
      injected_ = attempt_(best_.scenario).injected;
    }
    if (!injected_.empty()) {
      change([this](Scenario& next) { next.only = injected_; });
    }
    if (best_.scenario.only) {
      ddmin(*best_.scenario.only,
            [&](const std::vector<std::uint64_t>& rest) { return change([&](Scenario& next) { next.only = rest; }); });
    }
  }

  void drop_ranks() {
    for (std::uint32_t Scenario::* const count : {&Scenario::routers, &Scenario::prefill, &Scenario::decode}) {
      for (std::uint32_t fewer = 1; fewer < best_.scenario.*count; ++fewer) {
        if (change([&](Scenario& next) { set_ranks(next, count, fewer); })) {
          break;
        }
      }
    }
  }

  void simplify_settings() {
    for (void (*const simpler)(Scenario&) : simpler_settings()) {
      change(simpler);
    }
  }

  void simplify_clients() {
    for (std::size_t i = 0; i < best_.scenario.clients.size(); ++i) {
      for (void (*const simpler)(ClientPlan&) : simpler_client()) {
        change([&](Scenario& next) { simpler(next.clients[i]); });
      }
      lower(1, 12, [i](Scenario& next) -> auto& { return next.clients[i].prompt_tokens; });
      lower(1, 12, [i](Scenario& next) -> auto& { return next.clients[i].max_tokens; });
    }
  }

  void shorten_times() {
    constexpr int kTries = 5;
    const Duration none{0};
    for (std::size_t i = 0; i < best_.scenario.clients.size(); ++i) {
      lower(none, kTries, [i](Scenario& next) -> auto& { return next.clients[i].arrival; });
      if (best_.scenario.clients[i].patience) {
        lower(none, kTries, [i](Scenario& next) -> auto& { return *next.clients[i].patience; });
      }
    }
    for (std::size_t i = 0; i < best_.scenario.timed.size(); ++i) {
      lower(none, kTries, [i](Scenario& next) -> auto& { return next.timed[i].at; });
      lower(none, kTries, [i](Scenario& next) -> auto& { return next.timed[i].length; });
    }
    lower(none, kTries, [](Scenario& next) -> auto& { return next.latency; });
    lower(none, kTries, [](Scenario& next) -> auto& { return next.delay_max; });
  }

  // Tries the least value, and then goes half the way between what fails to show the bug and what shows it.
  template <class Value, class Field>
  void lower(Value least_value, int tries, const Field& field) {
    using Number = std::remove_reference_t<decltype(field(best_.scenario))>;
    auto least = static_cast<Number>(least_value);
    if (field(best_.scenario) <= least || change([&](Scenario& next) { field(next) = least; })) {
      return;
    }
    while (tries-- > 0) {
      const Number shown = field(best_.scenario);
      const Number middle = least + (shown - least) / 2;
      if (middle == least) {
        return;
      }
      if (!change([&](Scenario& next) { field(next) = middle; })) {
        least = middle;
      }
    }
  }

  Shrunk best_;
  const TryFunction& attempt_;
  const ShrinkOptions& options_;
  std::vector<std::uint64_t> injected_;  // keys of the message faults of the best one
  bool stopped_ = false;
};

std::string plural(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

Shrunk shrink(const Scenario& scenario, const Finding& finding, const TryFunction& attempt,
              const ShrinkOptions& options) {
  Shrunk start{scenario, finding, 0, true};
  return Shrinker(std::move(start), attempt, options).run();
}

std::string size_text(const Scenario& scenario) {
  std::string faults = "no message faults";
  if (scenario.only) {
    faults = plural(scenario.only->size(), "message fault");
  } else if (has_message_faults(scenario)) {
    faults = "message faults by chance";
  }
  const std::string ranks = scenario.aggregated ? plural(scenario.decode, "rank")
                                                : fmt::format("{}+{} ranks", scenario.prefill, scenario.decode);
  return fmt::format("{}, {}, {}, {}", plural(scenario.clients.size(), "client"),
                     plural(scenario.timed.size(), "timed fault"), faults, ranks);
}

}  // namespace baton::chaos
