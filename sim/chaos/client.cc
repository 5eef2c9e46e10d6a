#include "sim/chaos/client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "runtime/scope.h"
#include "runtime/sleep.h"

namespace baton::chaos {
namespace {

class Client final {
 public:
  Client(ClientParts parts, Router& router, ClientOrder order)
      : parts_(parts), router_(router), order_(std::move(order)) {}

  Task<> run() {
    co_await sleep_until(parts_.context, TimePoint{} + order_.plan.arrival);
    began_ = parts_.context.now();
    parts_.outcome.began = began_;
    generation_ = router_.start(order_.request);
    if (!order_.plan.patience) {
      co_await collect();
    } else if (order_.plan.vanishes) {
      co_await vanish();
    } else {
      co_await give_up_or_collect();
    }
    parts_.outcome.gone = parts_.context.now();
  }

 private:
  Task<> give_up_or_collect() {
    Scope scope(parts_.context, "client");
    const auto give_up = [this]() -> Task<> {
      const bool waited = co_await sleep_until(parts_.context, began_ + *order_.plan.patience);
      if (waited) {
        note(Fault::client_abort);
        generation_->abort();
      }
    };
    TaskHandle timer = scope.spawn("patience", give_up());
    const auto to_the_end = [this, &timer]() -> Task<> {
      co_await collect();
      timer.cancel();
    };
    scope.spawn("events", to_the_end());
    co_await scope.join();
  }

  // Destroys the generation after a while, wherever it stands. Every other one has taken events until then.
  Task<> vanish() {
    const bool reads = order_.plan.index % 2 == 1;
    Scope scope(parts_.context, "client");
    TaskHandle reader = reads ? scope.spawn("events", collect()) : TaskHandle();
    const auto leave = [this, &reader]() -> Task<> {
      co_await sleep_until(parts_.context, began_ + *order_.plan.patience);
      note(Fault::client_vanished);
      vanished_ = true;
      reader.cancel();
    };
    scope.spawn("patience", leave());
    co_await scope.join();
    generation_.reset();
  }

  Task<> collect() {
    std::uint32_t ends = 0;
    while (std::optional<GenerationEvent> event = co_await generation_->next()) {
      if (ends > 0) {
        blame("terminal", "an event came after the end");
      }
      if (auto* token = std::get_if<TokenEvent>(&*event)) {
        take(token->token.id);
      } else {
        ++ends;
        finish(std::get<FinishEvent>(*event));
      }
    }
    if (ends != 1 && !vanished_) {
      blame("terminal", fmt::format("{} terminal events", ends));
    }
  }

  void take(TokenId id) {
    const std::size_t index = parts_.outcome.tokens.size();
    if (index == 0) {
      parts_.outcome.first_token = parts_.context.now();
    }
    parts_.outcome.tokens.push_back(id);
    if (index >= order_.expected.size()) {
      blame("tokens", fmt::format("token {} is one more than the reference has", index));
    } else if (order_.expected[index] != id) {
      blame("tokens", fmt::format("token {} is {}, the reference has {}", index, id, order_.expected[index]));
    }
  }

  void finish(const FinishEvent& event) {
    const TimePoint now = parts_.context.now();
    const TimePoint latest = latest_end(parts_.scenario, began_ + order_.plan.time_limit);
    if (now > latest) {
      const auto late = std::chrono::duration_cast<std::chrono::microseconds>(now - latest).count();
      blame("deadline", fmt::format("ended {} us after its deadline", late));
    }
    parts_.outcome.ended = true;
    parts_.outcome.reason = event.reason;
    parts_.outcome.failure = event.failure;
    if (event.failure) {
      check_failure(*event.failure);
      return;
    }
    if (order_.promise == Promise::refusal) {
      blame("served", "it ended well, though it cannot fit");
    }
    const std::size_t taken = parts_.outcome.tokens.size();
    if (taken != order_.expected.size()) {
      blame("tokens", fmt::format("ended well after {} tokens, the reference has {}", taken, order_.expected.size()));
    }
    check_usage(event.usage, taken + (event.stop_token ? 1 : 0));
    check_stages(event.timeline);
  }

  void check_usage(const Usage& usage, std::size_t drawn) {
    if (usage.cached_tokens > usage.prompt_tokens) {
      blame("usage", fmt::format("{} cached of {} prompt tokens", usage.cached_tokens, usage.prompt_tokens));
    }
    if (usage.prompt_tokens != order_.request.prompt.size() || usage.completion_tokens != drawn) {
      blame("usage", fmt::format("{} prompt tokens count as {}, {} drawn ones as {}", order_.request.prompt.size(),
                                 usage.prompt_tokens, drawn, usage.completion_tokens));
    }
  }

  void check_failure(const Failure& failure) {
    if (order_.promise == Promise::success) {
      blame("served", fmt::format("nothing was in its way, and yet: {} ({}): {}", to_string(failure.code),
                                  failure.origin, failure.message));
    }
    if (failure.origin.empty() || failure.message.empty()) {
      blame("cause", fmt::format("failed with {} without saying where and why", to_string(failure.code)));
    }
    if (failure.code == Errc::aborted && !order_.plan.patience) {
      blame("cause", "ended as aborted by a client that had not given up: " + failure.message);
    }
  }

  void check_stages(const Timeline& timeline) {
    Duration sum{0};
    for (const Duration stage : timeline.stages) {
      sum += stage;
      if (stage < Duration{0}) {
        blame("stages", "a stage of the timeline is negative");
      }
    }
    if (sum != timeline.total) {
      blame("stages", fmt::format("the stages sum to {} ns, the total is {} ns", sum.count(), timeline.total.count()));
    }
  }

  void note(Fault fault) {
    const RankId router{Role::router, order_.plan.router};
    parts_.chronicle.injected({0, fault, parts_.context.now(), order_.plan.index, router, router});
  }

  void blame(const char* rule, const std::string& what) {
    parts_.chronicle.blame_request(rule, fmt::format("request {}: {}", order_.plan.index, what), order_.plan.index);
  }

  ClientParts parts_;
  Router& router_;
  ClientOrder order_;
  TimePoint began_{};
  std::unique_ptr<Generation> generation_;
  bool vanished_ = false;
};

}  // namespace

Task<> run_client(ClientParts parts, Router& router, ClientOrder order) {
  Client client(parts, router, std::move(order));
  co_await client.run();
}

}  // namespace baton::chaos
