// KvSender over any Endpoint: checks landings, passes answers on, and tells a target that asks for a room that is not
// open here that nothing will be written in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "model/kv/kv_layout.h"
#include "runtime/context.h"
#include "transport/endpoint.h"
#include "transport/recent_ids.h"
#include "transport/resend.h"
#include "transport/transport.h"

namespace baton {

class EndpointOutgoing;

class EndpointSender final : public KvSender {
 public:
  // context: the rank's own. layout: that of this rank's engine. All references outlive the sender, which outlives
  // every Outgoing it gave out. resend: how soon finish() repeats what the target has not answered.
  EndpointSender(Context& context, Endpoint& endpoint, const KvLayout& layout, std::uint64_t model_hash,
                 const ResendOptions& resend = ResendOptions());
  ~EndpointSender() override;

  Opened open(const Landing& landing) override;
  void refuse(const Landing& landing, Failure cause) noexcept override;
  void peer_gone(const PeerId& target) noexcept override;
  Task<> serve() override;
  std::size_t open_transfers() const noexcept override { return open_.size(); }

 private:
  friend class EndpointOutgoing;

  void answered(Notice answer);
  std::optional<Failure> check(const Landing& landing) const;
  Failure failure(Errc code, std::string message) const;

  Context& context_;
  Endpoint& endpoint_;
  KvLayout layout_;
  std::uint64_t model_hash_;
  ResendOptions resend_;
  std::map<TransferId, EndpointOutgoing*> open_;  // in order: who is told first does not depend on a hash
  RecentIds recent_;  // closed, refused, or given up by the target (with its cause): their pages are not ours any more
};

}  // namespace baton
