#include "roles/http/sample_run.h"

#include <string>
#include <utility>
#include <variant>

#include "roles/http/http_metrics.h"
#include "runtime/context.h"
#include "runtime/scope.h"

namespace baton {

SampleRun::SampleRun(Context& context, HttpMetrics& metrics, SampleListener& listener, TimePoint arrived)
    : context_(context), metrics_(metrics), listener_(listener), arrived_(arrived) {}

void SampleRun::start(Generator& generator, std::vector<GenerationRequest> requests) {
  generations_.reserve(requests.size());
  for (GenerationRequest& request : requests) {
    generations_.push_back(generator.start(std::move(request)));
  }
}

Task<> SampleRun::run() {
  if (generations_.size() == 1) {
    co_await follow(0);
    co_return;
  }
  Scope scope(context_, "http samples");
  for (std::uint32_t index = 0; index < generations_.size(); ++index) {
    scope.spawn("sample", follow(index));
  }
  co_await scope.join();
}

void SampleRun::abort() noexcept {
  for (const auto& generation : generations_) {
    generation->abort();
  }
}

Task<> SampleRun::follow(std::uint32_t index) {
  TimePoint last{};
  for (bool first = true;; first = false) {
    std::optional<GenerationEvent> event = co_await generations_[index]->next();
    if (!event) {
      fail(Failure(Errc::internal, "http", "the generation ended without saying why"));
      co_return;
    }
    if (auto* finish = std::get_if<FinishEvent>(&*event)) {
      if (finish->failure) {
        fail(std::move(*finish->failure));
      } else if (!failure_) {
        listener_.on_finish(index, std::move(*finish));
      }
      co_return;
    }
    const TimePoint now = context_.now();
    if (first) {
      metrics_.first_token(now - arrived_);
    } else {
      metrics_.next_token(now - last);
    }
    last = now;
    if (!failure_) {
      listener_.on_token(index, std::move(std::get<TokenEvent>(*event)));
    }
  }
}

void SampleRun::fail(Failure failure) noexcept {
  if (failure_) {
    return;  // the first cause wins
  }
  failure_ = std::move(failure);
  abort();
}

}  // namespace baton
