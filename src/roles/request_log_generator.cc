#include "roles/request_log_generator.h"

#include <utility>
#include <variant>

namespace baton {
namespace {

class LoggedGeneration final : public Generation {
 public:
  LoggedGeneration(Context& context, std::unique_ptr<Generation> inner, RequestLog& log, RecordBuilder builder)
      : context_(context), inner_(std::move(inner)), log_(log), builder_(std::move(builder)) {}

  ~LoggedGeneration() override {
    if (!ended_) {
      log_.write(builder_.give_up(context_.now()));
    }
  }

  Task<std::optional<GenerationEvent>> next() override {
    std::optional<GenerationEvent> event = co_await inner_->next();
    if (event) {
      note(*event);
    }
    co_return event;
  }

  void abort() noexcept override { inner_->abort(); }

 private:
  void note(const GenerationEvent& event) {
    if (const auto* finish = std::get_if<FinishEvent>(&event)) {
      ended_ = true;
      log_.write(builder_.finish(*finish, context_.now()));
    } else {
      builder_.token(context_.now());
    }
  }

  Context& context_;
  std::unique_ptr<Generation> inner_;
  RequestLog& log_;
  RecordBuilder builder_;
  bool ended_ = false;
};

}  // namespace

LoggedGenerator::LoggedGenerator(Context& context, Generator& inner, RequestLog& log)
    : context_(context), inner_(inner), log_(log), epoch_(context.now()) {}

std::unique_ptr<Generation> LoggedGenerator::start(GenerationRequest request) {
  RecordBuilder builder(request.client_id, static_cast<std::uint32_t>(request.prompt.size()), context_.now(), epoch_);
  return std::make_unique<LoggedGeneration>(context_, inner_.start(std::move(request)), log_, std::move(builder));
}

}  // namespace baton
