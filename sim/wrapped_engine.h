// A base for engines that do something around the steps of another one, and are in all else what that one is.
#pragma once

#include <memory>
#include <utility>

#include "model/engine/engine.h"

namespace baton {

// The other engine's steps are taken one by one: it is offered no rounds.
class WrappedEngine : public Engine {
 public:
  Task<> can_begin() override { return inner_->can_begin(); }
  std::uint32_t drafts() const noexcept override { return inner_->drafts(); }
  Task<> host_copy(std::uint64_t bytes) override { return inner_->host_copy(bytes); }

  const KvLayout& kv_layout() const noexcept override { return inner_->kv_layout(); }
  std::uint32_t vocab_size() const noexcept override { return inner_->vocab_size(); }
  std::uint32_t context_length() const noexcept override { return inner_->context_length(); }

 protected:
  explicit WrappedEngine(std::unique_ptr<Engine> inner) : inner_(std::move(inner)) {}
  Engine& inner() noexcept { return *inner_; }

 private:
  std::unique_ptr<Engine> inner_;
};

}  // namespace baton
