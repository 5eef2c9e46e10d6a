#include "transport/endpoint_sender.h"

#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "transport/counted_transfer.h"
#include "transport/wire.h"

namespace baton {

EndpointSender::EndpointSender(Context& context, Endpoint& endpoint, const KvLayout& layout, std::uint64_t model_hash)
    : context_(context), endpoint_(endpoint), layout_(layout), model_hash_(model_hash), recent_(kRecentRoomsMax) {}

EndpointSender::~EndpointSender() {
  BATON_CHECK(open_.empty(), open_.size());
}

Opened EndpointSender::open(const Landing& landing) {
  if (open_.contains(landing.id) || recent_.contains(landing.id)) {
    // Says nothing to the receiver: the hand-over that was opened first speaks for the room.
    return Opened(failure(Errc::invalid_argument, to_string(landing.id) + " has been opened or refused before"));
  }
  if (auto refusal = check(landing)) {
    refuse(landing, *refusal);
    return Opened(std::move(*refusal));
  }
  auto outgoing = std::make_unique<EndpointOutgoing>(*this, landing);
  open_.emplace(landing.id, outgoing.get());
  return Opened(std::move(outgoing));
}

void EndpointSender::refuse(const Landing& landing, Failure cause) noexcept {
  if (open_.contains(landing.id) || recent_.contains(landing.id)) {
    return;
  }
  recent_.insert(landing.id);
  endpoint_.post(landing.target, Notice(NoticeKind::closed, landing.id, endpoint_.self(), std::move(cause)));
}

void EndpointSender::peer_gone(const PeerId& target) noexcept {
  for (auto& [id, outgoing] : open_) {
    if (outgoing->landing().target == target) {
      outgoing->target_gone();
    }
  }
}

Task<> EndpointSender::serve() {
  while (auto notice = co_await endpoint_.next()) {
    const auto found = open_.find(notice->id);
    const bool ours = notice->kind == NoticeKind::answer && found != open_.end();
    if (ours && found->second->landing().target == notice->from) {
      found->second->answered(std::move(notice->failure));
    }
  }
}

std::optional<Failure> EndpointSender::check(const Landing& landing) const {
  if (landing.source != endpoint_.self() || landing.id.target != landing.target.instance) {
    return failure(Errc::peer_lost, fmt::format("the landing is for {} in another life", to_string(landing.source)));
  }
  if (landing.layout_fingerprint != layout_.fingerprint()) {
    return failure(Errc::invalid_argument,
                   fmt::format("the KV layouts differ: {} here, fingerprint {:016x}, there {:016x}", describe(layout_),
                               layout_.fingerprint(), landing.layout_fingerprint));
  }
  if (landing.model_hash != model_hash_) {
    return failure(Errc::invalid_argument,
                   fmt::format("the models differ: {:016x} here, {:016x} there", model_hash_, landing.model_hash));
  }
  const bool begins_well =
      landing.first_position % layout_.page_tokens == 0 && landing.first_position < landing.prompt_tokens;
  if (!begins_well || landing.pages.size() != layout_.pages_for(landing.prompt_tokens - landing.first_position) ||
      landing.pages.size() > kTransferPagesMax) {
    return failure(Errc::invalid_argument,
                   fmt::format("a landing of {} pages does not fit positions {} to {}", landing.pages.size(),
                               landing.first_position, landing.prompt_tokens));
  }
  return endpoint_.check(landing);
}

Failure EndpointSender::failure(Errc code, std::string message) const {
  return {code, to_string(endpoint_.self()), std::move(message)};
}

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
      next_write_ >= writes_max(pages_total)) {
    fail(failure_here(Errc::invalid_argument, fmt::format("push {} of pages {}+{} into a landing of {} pages",
                                                          next_write_, first_page, source_pages.size(), pages_total)));
  }
  if (failure_ || pages == 0) {
    busy.done();
    co_return outcome();
  }
  Notice notice = Notice::written(landing_.id, sender_.endpoint_.self(), next_write_++, first_page, pages);
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
  if (!written) {
    fail(failure_here(static_cast<Errc>(written.error().value()),
                      fmt::format("writing pages {}+{} to {} failed: {}", first_page, pages, to_string(landing_.target),
                                  written.error().message())));
  }
  co_return outcome();
}

Task<Result<>> EndpointOutgoing::finish(SideRecord record, TimePoint deadline) {
  Busy busy(*this);
  finished_ = true;
  if (!failure_) {
    record.id = landing_.id;
    record.pages_total = static_cast<std::uint32_t>(landing_.pages.size());
    record.writes_total = next_write_;
    post(Notice::record(landing_.id, sender_.endpoint_.self(), encode(record)));
  }
  while (!confirmed_ && !failure_) {
    const bool notified = co_await changed_.wait_until(deadline);
    if (!notified && sender_.context_.now() >= deadline) {
      fail(failure_here(Errc::timeout, "the deadline passed before the target confirmed the hand-over"));
    }
  }
  busy.done();
  co_return outcome();
}

void EndpointOutgoing::fail(Failure cause) noexcept {
  if (!failure_ && !confirmed_) {
    failure_ = std::move(cause);
    post(Notice(NoticeKind::failed, landing_.id, sender_.endpoint_.self(), failure_));
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
