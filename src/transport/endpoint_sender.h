// KvSender over any Endpoint: checks landings, numbers the writes, and passes answers on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "model/kv/kv_layout.h"
#include "runtime/context.h"
#include "runtime/pulse.h"
#include "transport/endpoint.h"
#include "transport/recent_ids.h"
#include "transport/transport.h"

namespace baton {

class EndpointOutgoing;

class EndpointSender final : public KvSender {
 public:
  // context: the rank's own. layout: that of this rank's engine. All references outlive the sender, which outlives
  // every Outgoing it gave out.
  EndpointSender(Context& context, Endpoint& endpoint, const KvLayout& layout, std::uint64_t model_hash);
  ~EndpointSender() override;

  Opened open(const Landing& landing) override;
  void refuse(const Landing& landing, Failure cause) noexcept override;
  void peer_gone(const PeerId& target) noexcept override;
  Task<> serve() override;
  std::size_t open_transfers() const noexcept override { return open_.size(); }

 private:
  friend class EndpointOutgoing;

  std::optional<Failure> check(const Landing& landing) const;
  Failure failure(Errc code, std::string message) const;

  Context& context_;
  Endpoint& endpoint_;
  KvLayout layout_;
  std::uint64_t model_hash_;
  std::unordered_map<TransferId, EndpointOutgoing*> open_;
  RecentIds recent_;  // closed or refused: their pages are not ours any more
};

// One hand-over of an EndpointSender; see Outgoing for what each member promises.
class EndpointOutgoing final : public Outgoing {
 public:
  EndpointOutgoing(EndpointSender& sender, const Landing& landing);
  EndpointOutgoing(const EndpointOutgoing&) = delete;
  EndpointOutgoing& operator=(const EndpointOutgoing&) = delete;
  ~EndpointOutgoing() override;

  const Landing& landing() const noexcept override { return landing_; }
  std::byte* direct_arena() noexcept override { return direct_arena_; }
  Task<Result<>> push(std::uint32_t first_page, std::span<const PageId> source_pages,
                      const std::byte* source_arena) override;
  Task<Result<>> finish(SideRecord record, TimePoint deadline) override;
  void fail(Failure cause) noexcept override;
  const std::optional<Failure>& failure() const noexcept override { return failure_; }

  // For the sender. The target's answer: everything counted, or why it wants no more.
  void answered(std::optional<Failure> failure) noexcept;
  // For the sender. Fails without telling anybody: the target is gone.
  void target_gone() noexcept;

 private:
  class Busy;

  Failure failure_here(Errc code, std::string message) const { return sender_.failure(code, std::move(message)); }
  Result<> outcome() const;
  void post(Notice notice) noexcept;

  EndpointSender& sender_;
  Landing landing_;
  std::byte* direct_arena_;
  Pulse changed_;
  std::uint32_t next_write_ = 0;
  bool busy_ = false;       // a push or a finish runs
  bool finished_ = false;   // the record has been sent
  bool confirmed_ = false;  // the target has counted everything
  std::optional<Failure> failure_;
};

}  // namespace baton
