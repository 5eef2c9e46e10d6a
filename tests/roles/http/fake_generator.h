// A Generator that says what a test's script tells it to, and counts what became of its generations.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "roles/generation.h"
#include "runtime/channel.h"

namespace baton::test {

struct GeneratorCounts {
  std::size_t live = 0;
  std::size_t aborted = 0;
};

class FakeGeneration final : public Generation {
 public:
  FakeGeneration(Context& context, GeneratorCounts& counts)
      : counts_(counts), events_(context, "fake events", std::size_t{1} << 20) {
    ++counts_.live;
  }
  ~FakeGeneration() override { --counts_.live; }

  // One token that shows this text; its id is that of the first byte, or of a blank.
  void say(const std::string& text) {
    SampledToken token;
    token.id = text.empty() ? ' ' : static_cast<TokenId>(static_cast<unsigned char>(text[0]));
    token.logprob = -0.5F;
    token.top = {TokenLogprob(token.id, -0.5F), TokenLogprob('z', -1.25F)};
    put(TokenEvent(std::move(token), text));
    ++tokens_;
  }

  void finish(FinishReason reason = FinishReason::length, const std::string& rest = {}) {
    FinishEvent event;
    event.reason = reason;
    event.text = rest;
    event.usage.completion_tokens = tokens_;
    put(std::move(event));
  }
  void finish_with(FinishEvent event) { put(std::move(event)); }
  void fail(Errc code, const std::string& message) { put(FinishEvent(Failure(code, "decode/0", message))); }

  Task<std::optional<GenerationEvent>> next() override {
    if (done_) {
      co_return std::nullopt;
    }
    std::optional<GenerationEvent> event = co_await events_.recv();
    if (event) {
      done_ = std::holds_alternative<FinishEvent>(*event);
    }
    co_return event;
  }

  void abort() noexcept override {
    if (done_ || std::exchange(aborted_, true)) {
      return;
    }
    ++counts_.aborted;
    while (events_.try_recv()) {
    }
    fail(Errc::aborted, "the client went away");
  }

 private:
  void put(GenerationEvent event) {
    if (!events_.try_send(event)) {
      throw std::runtime_error("the script says more than the channel holds");
    }
  }

  GeneratorCounts& counts_;
  Channel<GenerationEvent> events_;
  std::uint32_t tokens_ = 0;
  bool done_ = false;
  bool aborted_ = false;
};

class FakeGenerator final : public Generator {
 public:
  // Called when a generation starts; may keep the reference as long as the generation lives.
  using Script = std::function<void(FakeGeneration&, const GenerationRequest&, std::size_t number)>;

  explicit FakeGenerator(Context& context) : context_(context) {}

  std::unique_ptr<Generation> start(GenerationRequest request) override {
    auto generation = std::make_unique<FakeGeneration>(context_, counts);
    requests.push_back(std::move(request));
    last = generation.get();
    script(*generation, requests.back(), requests.size() - 1);
    return generation;
  }
  ServiceState state() const noexcept override { return service; }
  std::uint32_t max_context() const noexcept override { return context_length; }

  Script script = [](FakeGeneration& generation, const GenerationRequest&, std::size_t) {
    generation.say("Hel");
    generation.say("lo");
    generation.finish();
  };
  ServiceState service = ServiceState::usable;
  std::uint32_t context_length = 100;
  std::vector<GenerationRequest> requests;
  FakeGeneration* last = nullptr;
  GeneratorCounts counts;

 private:
  Context& context_;
};

}  // namespace baton::test
