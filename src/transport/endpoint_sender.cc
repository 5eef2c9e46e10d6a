#include "transport/endpoint_sender.h"

#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/mutants.h"
#include "transport/endpoint_outgoing.h"

namespace baton {

EndpointSender::EndpointSender(Context& context, Endpoint& endpoint, const KvLayout& layout, std::uint64_t model_hash,
                               const ResendOptions& resend)
    : context_(context),
      endpoint_(endpoint),
      layout_(layout),
      model_hash_(model_hash),
      resend_(resend),
      recent_(kRecentRoomsMax) {}

EndpointSender::~EndpointSender() {
  BATON_CHECK(open_.empty(), open_.size());
}

Opened EndpointSender::open(const Landing& landing) {
  if (const auto* outcome = recent_.outcome(landing.id); outcome != nullptr && *outcome) {
    return Opened(**outcome);  // the target gave the room up before its landing came, and has its pages back
  }
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
    if (notice->kind == NoticeKind::answer) {
      answered(std::move(*notice));
    }
  }
}

void EndpointSender::answered(Notice answer) {
  const auto found = open_.find(answer.id);
  if (found != open_.end()) {
    if (found->second->landing().target == answer.from) {
      found->second->answered(std::move(answer.failure));
    }
    return;
  }
  if (answer.failure && answer.id.target == answer.from.instance && !mutant(Mutant::probe_of_unknown_unanswered)) {
    // Its landing was lost, is late, or our last word was lost. Nothing can land for it, now or later.
    if (!mutant(Mutant::landing_opens_after_closed)) {
      recent_.insert(answer.id, answer.failure);
    }
    endpoint_.post(answer.from, Notice(NoticeKind::closed, answer.id, endpoint_.self(), std::move(answer.failure)));
  }
}

std::optional<Failure> EndpointSender::check(const Landing& landing) const {
  if (landing.source != endpoint_.self() || landing.id.target != landing.target.instance) {
    return failure(Errc::peer_lost, fmt::format("the landing is for {} in another life", to_string(landing.source)));
  }
  if (landing.layout_fingerprint != layout_.fingerprint() && !mutant(Mutant::layouts_unchecked)) {
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
  const bool knows_before = landing.found_pages.size() == landing.first_position / layout_.page_tokens;
  if (!begins_well || !knows_before ||
      landing.pages.size() != layout_.pages_for(landing.prompt_tokens - landing.first_position) ||
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

}  // namespace baton
