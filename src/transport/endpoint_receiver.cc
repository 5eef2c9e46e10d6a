#include "transport/endpoint_receiver.h"

#include <algorithm>
#include <utility>

#include "runtime/check.h"
#include "runtime/mutants.h"

namespace baton {
namespace {

constexpr std::size_t kGonePeersMax = 64;

}  // namespace

// Registers a waiter for as long as its frame lives. A frame that ends without the verdict gives the room up.
class EndpointReceiver::Waiting final {
 public:
  Waiting(EndpointReceiver& receiver, TransferId id, Pulse& pulse) : receiver_(receiver), id_(id) {
    const bool alone = receiver_.waiting_.try_emplace(id, &pulse).second;
    BATON_CHECK(alone, to_string(id));
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    receiver_.waiting_.erase(id_);
    if (receiver_.book_.known(id_)) {
      receiver_.abandon(id_, Failure(Errc::aborted, to_string(receiver_.endpoint_.self()), "nobody waits any more"));
    }
  }

 private:
  EndpointReceiver& receiver_;
  TransferId id_;
};

EndpointReceiver::EndpointReceiver(Context& context, Endpoint& endpoint, const KvLayout& layout,
                                   std::uint64_t model_hash, const ResendOptions& resend)
    : context_(context),
      endpoint_(endpoint),
      layout_(layout),
      model_hash_(model_hash),
      book_(endpoint.self()),
      unheard_(resend),
      unheard_changed_(context, "unheard answers"),
      gone_(kGonePeersMax) {}

Result<Landing> EndpointReceiver::expect(Expectation expectation) {
  const std::uint32_t first = expectation.first_position;
  const std::uint32_t prompt = expectation.prompt_tokens;
  const auto pages = expectation.lease.pages();
  if (first % layout_.page_tokens != 0 || first >= prompt || pages.size() != layout_.pages_for(prompt) ||
      pages.size() > kTransferPagesMax) {
    return Errc::invalid_argument;
  }
  if (gone_.contains(expectation.source)) {
    return Errc::peer_lost;
  }
  const auto wanted = pages.subspan(first / layout_.page_tokens);
  Landing landing(TransferId{endpoint_.self().instance, expectation.room}, endpoint_.self(), expectation.source,
                  layout_.fingerprint(), model_hash_, prompt, first, {wanted.begin(), wanted.end()},
                  endpoint_.memory_key());
  landing.found_pages.assign(pages.begin(), pages.end() - static_cast<std::ptrdiff_t>(wanted.size()));
  if (!book_.open(expectation, static_cast<std::uint32_t>(wanted.size()))) {
    return Errc::invalid_argument;
  }
  return landing;
}

Task<Arrival> EndpointReceiver::arrived(TransferId id, TimePoint deadline) {
  if (!book_.known(id)) {
    co_return Arrival(Failure(Errc::aborted, to_string(endpoint_.self()), to_string(id) + " is not open"));
  }
  Pulse pulse(context_, "verdict");
  Waiting waiting(*this, id, pulse);
  while (!book_.has_verdict(id)) {
    const bool notified = co_await pulse.wait_until(deadline);
    if (!notified && context_.now() >= deadline) {
      abandon(id, Failure(Errc::timeout, to_string(endpoint_.self()), "the deadline passed before the prompt arrived"));
    }
  }
  co_return book_.take(id);
}

void EndpointReceiver::abandon(TransferId id, Failure cause) noexcept {
  book_.abandon(id, std::move(cause));
  watch(id);
  post_answers();
  if (waiting_.contains(id)) {
    wake(id);
  } else if (book_.has_verdict(id)) {
    book_.take(id);
  }
}

void EndpointReceiver::peer_gone(const PeerId& source) noexcept {
  gone_.add(source);
  if (!mutant(Mutant::peer_gone_without_fence)) {
    endpoint_.fence(source);  // before a page of its rooms can return
  }
  const Failure cause(Errc::peer_lost, to_string(endpoint_.self()), to_string(source) + " is gone");
  const std::vector<TransferId> concluded = book_.peer_gone(source, cause);
  unheard_.remove_if([this](const TransferId& id) { return !book_.in_quarantine(id); });
  unheard_changed_.notify();
  for (const TransferId& id : concluded) {
    wake(id);
  }
}

Task<> EndpointReceiver::serve() {
  auto body = [this](Scope& scope) { return take_notices(scope); };
  co_await in_scope(context_, to_string(endpoint_.self()) + ".receiver", body);
}

Task<> EndpointReceiver::take_notices(Scope& scope) {
  scope.spawn("unheard answers", repeat_answers());
  while (auto notice = co_await endpoint_.next()) {
    const TransferId id = notice->id;
    if (book_.apply(std::move(*notice))) {
      wake(id);
    }
    watch(id);
    post_answers();
  }
  scope.cancel();
}

Task<> EndpointReceiver::repeat_answers() {
  for (;;) {
    for (const TransferId& id : unheard_.take_due(context_.now())) {
      book_.answer_again(id);
    }
    post_answers();
    co_await unheard_changed_.wait_until(unheard_.next());
  }
}

// After anything that may have put the room into quarantine or let it out.
void EndpointReceiver::watch(const TransferId& id) {
  const TimePoint before = unheard_.next();
  if (book_.in_quarantine(id)) {
    unheard_.add(id, context_.now());
  } else {
    unheard_.remove(id);
  }
  if (unheard_.next() != before) {
    unheard_changed_.notify();
  }
}

void EndpointReceiver::post_answers() {
  for (auto& [peer, answer] : book_.take_answers()) {
    endpoint_.post(peer, std::move(answer));
  }
}

void EndpointReceiver::wake(const TransferId& id) {
  const auto found = waiting_.find(id);
  if (found != waiting_.end()) {
    found->second->notify();
  }
}

}  // namespace baton
