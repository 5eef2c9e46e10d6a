#include "transport/endpoint_outgoing.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/mutants.h"
#include "transport/counted_transfer.h"
#include "transport/wire.h"

namespace baton {

// Marks a push or finish for as long as its frame lives. One that is left by an exception has failed.
class EndpointOutgoing::Busy final {
 public:
  explicit Busy(EndpointOutgoing& outgoing) : outgoing_(outgoing) {
    BATON_CHECK(!outgoing.busy_ && !outgoing.finished_);
    outgoing_.busy_ = true;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    outgoing_.busy_ = false;
    if (!done_) {
      outgoing_.fail(outgoing_.failure_here(Errc::aborted, "the hand-over was interrupted"));
    }
  }
  void done() noexcept { done_ = true; }

 private:
  EndpointOutgoing& outgoing_;
  bool done_ = false;
};

EndpointOutgoing::EndpointOutgoing(EndpointSender& sender, const Landing& landing)
    : sender_(sender),
      landing_(landing),
      direct_arena_(sender.endpoint_.direct_arena(landing)),
      changed_(sender.context_, "answer") {}

EndpointOutgoing::~EndpointOutgoing() {
  BATON_CHECK(!busy_);
  sender_.open_.erase(landing_.id);
  sender_.recent_.insert(landing_.id);
  if (!confirmed_) {
    post(Notice(NoticeKind::closed, landing_.id, sender_.endpoint_.self(), failure_));
  }
}

Task<Result<>> EndpointOutgoing::push(std::uint32_t first_page, std::span<const PageId> source_pages,
                                      const std::byte* source_arena) {
  Busy busy(*this);
  const auto pages_total = static_cast<std::uint32_t>(landing_.pages.size());
  const auto pages = static_cast<std::uint32_t>(source_pages.size());
  if (first_page > pages_total || source_pages.size() > pages_total - first_page ||
      writes_.size() >= writes_max(pages_total)) {
    fail(failure_here(Errc::invalid_argument,
                      fmt::format("push {} of pages {}+{} into a landing of {} pages", writes_.size(), first_page,
                                  source_pages.size(), pages_total)));
  }
  if (failure_ || pages == 0) {
    busy.done();
    co_return outcome();
  }
  writes_.push_back({first_page, pages});
  Notice notice = notice_of(static_cast<std::uint32_t>(writes_.size() - 1));
  if (direct_arena_ != nullptr) {
    post(std::move(notice));
    busy.done();
    co_return outcome();
  }
  auto runs = merge_runs(source_pages, std::span(landing_.pages).subspan(first_page, pages));
  KvWrite write(landing_.target, landing_.memory_key, sender_.layout_.page_bytes(), source_arena, std::move(runs),
                std::move(notice));
  const Result<> written = co_await sender_.endpoint_.write(std::move(write));
  busy.done();
  if (!written && !mutant(Mutant::failed_write_counts)) {
    fail(failure_here(static_cast<Errc>(written.error().value()),
                      fmt::format("writing pages {}+{} to {} failed: {}", first_page, pages, to_string(landing_.target),
                                  written.error().message())));
  }
  co_return outcome();
}

Task<Result<>> EndpointOutgoing::finish(SideRecord record, TimePoint deadline) {
  Busy busy(*this);
  finished_ = true;
  record.id = landing_.id;
  record.pages_total = static_cast<std::uint32_t>(landing_.pages.size());
  record.writes_total = static_cast<std::uint32_t>(writes_.size());
  const Bytes encoded = encode(record);
  if (!failure_) {
    post(Notice::record(landing_.id, sender_.endpoint_.self(), encoded));
  }
  Duration pause = sender_.resend_.interval;
  const bool repeats = pause > Duration::zero() && !mutant(Mutant::no_resend);
  TimePoint again = repeats ? add_saturating(sender_.context_.now(), pause) : kNever;
  while (!confirmed_ && !failure_) {
    const bool notified = co_await changed_.wait_until(std::min(deadline, again));
    const TimePoint now = sender_.context_.now();
    if (!notified && now >= deadline) {
      fail(failure_here(Errc::timeout, "the deadline passed before the target confirmed the hand-over"));
    } else if (!notified && now >= again) {
      repeat(encoded);
      pause = sender_.resend_.next(pause);
      again = add_saturating(now, pause);
    }
  }
  busy.done();
  co_return outcome();
}

Notice EndpointOutgoing::notice_of(std::uint32_t sequence) const {
  const Written& write = writes_[sequence];
  return Notice::written(landing_.id, sender_.endpoint_.self(), sequence, write.first_page, write.pages);
}

// Every write has been applied, or finish() would not wait: its notice may be said by us as well as by the backend. The
// record comes last, since a target that has counted everything answers it.
void EndpointOutgoing::repeat(const Bytes& record) {
  const std::size_t count = std::min(writes_.size(), sender_.resend_.round_max);
  for (std::size_t i = 0; i < count; ++i) {
    post(notice_of(static_cast<std::uint32_t>(repeated_)));
    repeated_ = (repeated_ + 1) % writes_.size();
  }
  post(Notice::record(landing_.id, sender_.endpoint_.self(), record));
}

void EndpointOutgoing::fail(Failure cause) noexcept {
  if (!failure_ && !confirmed_) {
    failure_ = std::move(cause);
    const NoticeKind kind = mutant(Mutant::closed_before_writes_end) ? NoticeKind::closed : NoticeKind::failed;
    post(Notice(kind, landing_.id, sender_.endpoint_.self(), failure_));
    changed_.notify();
  }
}

void EndpointOutgoing::answered(std::optional<Failure> failure) noexcept {
  if (failure_ || confirmed_) {
    return;
  }
  confirmed_ = !failure;
  failure_ = std::move(failure);
  changed_.notify();
}

void EndpointOutgoing::target_gone() noexcept {
  if (!failure_ && !confirmed_) {
    failure_ = failure_here(Errc::peer_lost, to_string(landing_.target) + " is gone");
    changed_.notify();
  }
}

Result<> EndpointOutgoing::outcome() const {
  if (failure_) {
    return failure_->code;
  }
  return {};
}

void EndpointOutgoing::post(Notice notice) noexcept {
  sender_.endpoint_.post(landing_.target, std::move(notice));
}

}  // namespace baton
