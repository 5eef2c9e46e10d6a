// The backend of a world under exploration: notices travel over the Network, writes take time, tear, fail and come
// late, and go on for a while after their writer has died.
//
// It keeps the promises that a backend must keep (transport/endpoint.h): no byte of a write lands after the write has
// completed at its writer, nor after the target has fenced the writer off.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "runtime/context.h"
#include "runtime/mailbox.h"
#include "runtime/pulse.h"
#include "sim/chaos/ledger.h"
#include "sim/chaos/network.h"
#include "transport/endpoint.h"

namespace baton::chaos {

class ChaosEndpoint;

// One write under way. Shared by its writer's coroutine, if that lives, and by the network.
struct WriteUnderWay {
  KvWrite write;
  PeerId writer;
  RoomId room;
  Fate fate;
  std::vector<std::byte> ghost;  // its bytes, once the writer is dead
  std::uint32_t pages_done = 0;
  bool over = false;
  bool failed = false;
  Pulse* writer_waits = nullptr;  // null: nobody waits any more
};

// All endpoints of one world: who lives, who is fenced off, which writes are under way.
class Wires final {
 public:
  Wires(Network& network, Ledger& ledger, Chronicle& chronicle, const Scenario& scenario)
      : network_(network), ledger_(ledger), chronicle_(chronicle), scenario_(scenario) {}

  void attach(const PeerId& peer, Mailbox<Notice>::Sender inbox) { inboxes_[peer] = std::move(inbox); }
  void detach(const PeerId& peer) { inboxes_.erase(peer); }
  void post(RankId from, const PeerId& to, Notice notice);

  // From now on no byte of that writer lands at that target.
  void fence(const PeerId& target, const PeerId& writer) { fenced_.emplace(target, writer); }

  std::shared_ptr<WriteUnderWay> begin(const PeerId& writer, KvWrite write);

  // The writer dies now; its memory is about to go. Some of its writes are with the network already and still land.
  void writer_dies(const PeerId& writer);

 private:
  void half_way(WriteUnderWay& write);
  void at_end(WriteUnderWay& write);
  bool may_land(const WriteUnderWay& write) const;
  void apply(WriteUnderWay& write, std::uint32_t pages_until);
  void tear_page(WriteUnderWay& write);
  void end(WriteUnderWay& write, bool failed);

  Network& network_;
  Ledger& ledger_;
  Chronicle& chronicle_;
  const Scenario& scenario_;
  std::map<PeerId, Mailbox<Notice>::Sender> inboxes_;
  std::set<std::pair<PeerId, PeerId>> fenced_;
  std::vector<std::weak_ptr<WriteUnderWay>> under_way_;
};

class ChaosEndpoint final : public Endpoint {
 public:
  // inner: the node's own endpoint, for what is known about memory. All outlive this.
  ChaosEndpoint(Context& context, Endpoint& inner, Wires& wires);
  ~ChaosEndpoint() override;

  const PeerId& self() const noexcept override { return self_; }
  std::uint64_t memory_key() const noexcept override { return inner_.memory_key(); }
  std::byte* direct_arena(const Landing& landing) noexcept override { return inner_.direct_arena(landing); }
  std::optional<Failure> check(const Landing& landing) override { return inner_.check(landing); }
  void fence(const PeerId& peer) noexcept override { wires_.fence(self_, peer); }
  Task<Result<>> write(KvWrite write) override;
  void post(const PeerId& to, Notice notice) noexcept override { wires_.post(self_.rank, to, std::move(notice)); }
  Task<std::optional<Notice>> next() override;

 private:
  Context& context_;
  Endpoint& inner_;
  Wires& wires_;
  PeerId self_;
  Mailbox<Notice> inbox_;
};

}  // namespace baton::chaos
