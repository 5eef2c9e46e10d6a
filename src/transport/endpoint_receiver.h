// KvReceiver over any Endpoint: the book of rooms, with somebody waiting at each.
//
//   Endpoint::next() --serve()--> TransferBook --verdict--> the room's pulse --> arrived()
//                                      |--answers--> Endpoint::post()     again for rooms in quarantine, since a
//                                                                         sender that did not hear keeps pages bound
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/kv/kv_layout.h"
#include "runtime/context.h"
#include "runtime/pulse.h"
#include "runtime/scope.h"
#include "transport/endpoint.h"
#include "transport/gone_peers.h"
#include "transport/resend.h"
#include "transport/transfer_book.h"
#include "transport/transport.h"

namespace baton {

class EndpointReceiver final : public KvReceiver {
 public:
  // context: the rank's own. layout: that of the arena behind the endpoint. All references outlive the receiver, and
  // the receiver outlives the tasks that wait in it. Pools whose leases it holds outlive it. resend: how soon a sender
  // that keeps pages in quarantine is asked again.
  EndpointReceiver(Context& context, Endpoint& endpoint, const KvLayout& layout, std::uint64_t model_hash,
                   const ResendOptions& resend = ResendOptions());
  ~EndpointReceiver() override = default;

  Result<Landing> expect(Expectation expectation) override;
  Task<Arrival> arrived(TransferId id, TimePoint deadline) override;
  void abandon(TransferId id, Failure cause) noexcept override;
  void peer_gone(const PeerId& source) noexcept override;
  Task<> serve() override;

  std::size_t open_transfers() const noexcept override { return book_.open_transfers(); }
  std::size_t quarantined() const noexcept override { return book_.quarantined(); }
  std::uint64_t late_notices() const noexcept override { return book_.late_notices(); }

 private:
  class Waiting;

  Task<> take_notices(Scope& scope);
  Task<> repeat_answers();
  void watch(const TransferId& id);
  void post_answers();
  void wake(const TransferId& id);

  Context& context_;
  Endpoint& endpoint_;
  KvLayout layout_;
  std::uint64_t model_hash_;
  TransferBook book_;
  std::unordered_map<TransferId, Pulse*> waiting_;
  ResendSchedule unheard_;  // rooms in quarantine
  Pulse unheard_changed_;
  GonePeers gone_;
};

}  // namespace baton
