// Any Endpoint, with faults: for tests and for the fault explorer. Writes and notices that leave through it are
// delayed, dropped, overtaken, duplicated, failed or torn as its plan says, on the context's clock, so that the same
// plan gives the same history in virtual time.
//
// It keeps the promises that a backend must keep (endpoint.h): no byte lands after its write has completed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "runtime/context.h"
#include "runtime/pulse.h"
#include "transport/endpoint.h"
#include "transport/faulty/fault_plan.h"

namespace baton {

class FaultyEndpoint final : public Endpoint {
 public:
  // All references outlive the endpoint.
  FaultyEndpoint(Context& context, Endpoint& inner, FaultPlan& plan);

  // Delivers what was delayed. Spawned once; runs until cancelled. Without it late notices never arrive.
  Task<> run();

  std::size_t delayed() const noexcept { return delayed_.size(); }  // notices yet to be delivered
  std::uint64_t faults() const noexcept { return faults_; }         // operations that went wrong

  const PeerId& self() const noexcept override { return inner_.self(); }
  std::uint64_t memory_key() const noexcept override { return inner_.memory_key(); }
  std::byte* direct_arena(const Landing& landing) noexcept override { return inner_.direct_arena(landing); }
  std::optional<Failure> check(const Landing& landing) override { return inner_.check(landing); }
  void fence(const PeerId& peer) noexcept override { inner_.fence(peer); }
  Task<Result<>> write(KvWrite write) override;
  void post(const PeerId& to, Notice notice) noexcept override;
  Task<std::optional<Notice>> next() override { return inner_.next(); }

 private:
  using Due = std::pair<TimePoint, std::uint64_t>;  // when, and the order among those of one instant

  struct Delayed {
    PeerId to;
    Notice notice;
  };

  Fault decide(bool is_write, NoticeKind notice, const TransferId& id, const PeerId& to);
  Due post_later(const PeerId& to, Notice notice, Duration delay);
  void deliver(const PeerId& to, Notice notice);
  void release_held();

  Context& context_;
  Endpoint& inner_;
  FaultPlan& plan_;
  Pulse changed_;
  std::map<Due, Delayed> delayed_;
  std::optional<Due> held_;  // the notice that lets the next one pass
  std::uint64_t operations_ = 0;
  std::uint64_t delayed_count_ = 0;
  std::uint64_t faults_ = 0;
};

}  // namespace baton
