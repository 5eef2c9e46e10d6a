// Outgoing over any Endpoint: one hand-over of an EndpointSender. Numbers its writes, waits for the target's answer,
// and says what may have been lost again until the answer comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/pulse.h"
#include "transport/endpoint.h"
#include "transport/endpoint_sender.h"
#include "transport/transport.h"

namespace baton {

// See Outgoing for what each member promises.
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

  // One push: landing pages [first_page, first_page + pages). Its sequence number is its index. Nothing is repeated
  // unless all went well.
  struct Written {
    std::uint32_t first_page = 0;
    std::uint32_t pages = 0;
  };

  Failure failure_here(Errc code, std::string message) const { return sender_.failure(code, std::move(message)); }
  Result<> outcome() const;
  Notice notice_of(std::uint32_t sequence) const;
  void repeat(const Bytes& record);
  void post(Notice notice) noexcept;

  EndpointSender& sender_;
  Landing landing_;
  std::byte* direct_arena_;
  Pulse changed_;
  std::vector<Written> writes_;
  std::size_t repeated_ = 0;  // the next of them to be said again
  bool busy_ = false;         // a push or a finish runs
  bool finished_ = false;     // the record has been sent
  bool confirmed_ = false;    // the target has counted everything
  std::optional<Failure> failure_;
};

}  // namespace baton
