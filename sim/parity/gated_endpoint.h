// An endpoint whose writes wait at a gate before they happen; everything else passes through.
#pragma once

#include <utility>

#include "sim/parity/gate.h"
#include "transport/endpoint.h"

namespace baton::sim {

class GatedEndpoint final : public Endpoint {
 public:
  // Both outlive it.
  GatedEndpoint(Endpoint& inner, Gate& gate) : inner_(inner), gate_(gate) {}

  const PeerId& self() const noexcept override { return inner_.self(); }
  std::uint64_t memory_key() const noexcept override { return inner_.memory_key(); }
  std::byte* direct_arena(const Landing& landing) noexcept override { return inner_.direct_arena(landing); }
  std::optional<Failure> check(const Landing& landing) override { return inner_.check(landing); }
  Task<Result<>> write(KvWrite write) override {
    co_await gate_.may_write(self().rank, write.notice->id.room);
    Task<Result<>> pending = inner_.write(std::move(write));
    co_return co_await std::move(pending);
  }
  void fence(const PeerId& peer) noexcept override { inner_.fence(peer); }
  void post(const PeerId& to, Notice notice) noexcept override { inner_.post(to, std::move(notice)); }
  Task<std::optional<Notice>> next() override { return inner_.next(); }

 private:
  Endpoint& inner_;
  Gate& gate_;
};

}  // namespace baton::sim
