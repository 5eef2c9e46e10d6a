#include "roles/router.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/kv/prefix_keys.h"
#include "roles/sample.h"
#include "runtime/mutants.h"
#include "runtime/sleep.h"

namespace baton {
namespace {

constexpr const char* kOrigin = "router";

std::vector<double> stage_buckets() {
  return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};
}

// An entry for every so many tokens: prefixes that tell prompts apart are longer.
constexpr std::uint32_t kIndexGrainTokens = 128;
constexpr std::uint64_t kIndexEntriesMin = 1024;
constexpr std::uint64_t kIndexEntriesMax = 1U << 20;

// As many entries as the caches have pages for, within bounds.
PrefixIndex::Limits index_limits(const PrefixRouting& prefix) {
  PrefixIndex::Limits limits;
  limits.page_tokens = prefix.page_tokens;
  limits.grain_pages = std::max(1U, kIndexGrainTokens / prefix.page_tokens);
  limits.entries_max = static_cast<std::uint32_t>(
      std::clamp(prefix.pages_total / limits.grain_pages, kIndexEntriesMin, kIndexEntriesMax));
  return limits;
}

std::vector<PeerId> members(const RouterRanks& ranks) {
  std::vector<PeerId> all = ranks.prefill;
  all.insert(all.end(), ranks.decode.begin(), ranks.decode.end());
  return all;
}

}  // namespace

Router::Router(Context& context, ControlLink& link, RouterRanks ranks, RouterConfig config, MetricsRegistry& metrics,
               EventTrace& trace)
    : context_(context),
      link_(link),
      trace_(trace),
      ranks_(std::move(ranks)),
      config_(config),
      scope_(context, kOrigin),
      inbox_(context, "router inbox"),
      prefill_load_(ranks_.prefill.size()),
      decode_load_(ranks_.decode.size()),
      membership_(members(ranks_), config.liveness),
      deadline_(context, "router deadlines"),
      room_gone_(context, "router rooms"),
      stopped_(context, "router stop"),
      random_(config.seed),
      open_gauge_(metrics.gauge("baton_open_requests", "Samples between their arrival and their end", {})),
      finished_(metrics.counter("baton_requests_finished_total", "Samples that ended well", {})),
      failed_(metrics.counter("baton_requests_failed_total", "Samples that ended with a failure", {})) {
  for (std::size_t i = 0; i < kStageCount; ++i) {
    stage_seconds_.push_back(&metrics.histogram("baton_request_stage_seconds",
                                                "Where the time of a sample went; the stages sum to its total",
                                                stage_buckets(), {{"stage", to_string(static_cast<Stage>(i))}}));
  }
  if (config_.routing == policy::Routing::prefix_aware && config_.prefix.page_tokens > 0) {
    prefixes_.emplace(index_limits(config_.prefix));
  }
  refresh_ranks();
}

Router::~Router() = default;

Task<> Router::run() {
  scope_.spawn("listen", listen());
  scope_.spawn("deadlines", watch_deadlines());
  scope_.spawn("life", live());
  co_await scope_.join();
}

Task<> Router::live() {
  while (!stopping_) {
    co_await stopped_.wait();
  }
  scope_.cancel();
}

void Router::stop() {
  state_ = ServiceState::draining;
  stopping_ = true;
  stopped_.notify();
}

Task<> Router::drain(TimePoint deadline) {
  state_ = ServiceState::draining;
  while (!rooms_.empty() && context_.now() < deadline) {
    co_await room_gone_.wait_until(deadline);
  }
  std::vector<RoomId> left;
  for (const auto& [id, room] : rooms_) {
    left.push_back(id);
  }
  std::sort(left.begin(), left.end());
  for (const RoomId id : left) {
    end(id, Failure(Errc::unavailable, kOrigin, "the server is shutting down"), std::nullopt);
  }
}

std::unique_ptr<Generation> Router::start(GenerationRequest request) {
  auto sample = std::make_unique<Sample>(*this, context_, request.stop.max_tokens);
  if (std::optional<Failure> refusal = check(request)) {
    failed_.add(1);
    sample->deliver(FinishEvent(std::move(*refusal)));
    return sample;
  }
  if (!dispatch(*sample, std::move(request))) {
    failed_.add(1);
    sample->deliver(FinishEvent(Failure(Errc::unavailable, kOrigin, "no usable rank")));
  }
  return sample;
}

// What can never work is refused here, with the numbers; the ranks check again what depends on their pools.
std::optional<Failure> Router::check(const GenerationRequest& request) const {
  if (state_ != ServiceState::usable) {
    return Failure(Errc::unavailable, kOrigin,
                   state_ == ServiceState::starting ? "the server is starting" : "the server is shutting down");
  }
  if (rooms_.size() >= config_.open_max) {
    return Failure(Errc::overloaded, kOrigin, fmt::format("{} requests are open, the most allowed", rooms_.size()));
  }
  if (request.prompt.empty()) {
    return Failure(Errc::invalid_argument, kOrigin, "the prompt has no tokens");
  }
  if (request.stop.max_tokens == 0) {
    return Failure(Errc::invalid_argument, kOrigin, "max_tokens must be at least 1");
  }
  const std::uint64_t total = std::uint64_t{request.prompt.size()} + request.stop.max_tokens;
  if (total > config_.max_context) {
    return Failure(Errc::too_large, kOrigin,
                   fmt::format("{} prompt tokens and {} output tokens are {}, more than the {} of the context",
                               request.prompt.size(), request.stop.max_tokens, total, config_.max_context));
  }
  if (config_.max_prompt > 0 && request.prompt.size() > config_.max_prompt) {
    return Failure(Errc::too_large, kOrigin,
                   fmt::format("{} prompt tokens are more than the {} that the smallest prefill pool holds",
                               request.prompt.size(), config_.max_prompt));
  }
  for (const TokenId id : {request.prompt.least(), request.prompt.largest()}) {
    if (id < 0 || static_cast<std::uint32_t>(id) >= config_.vocab_size) {
      return Failure(Errc::invalid_argument, kOrigin,
                     fmt::format("prompt token {} is not in the vocabulary of {}", id, config_.vocab_size));
    }
  }
  if (std::optional<std::string> wrong = request.sampling.validate(config_.vocab_size)) {
    return Failure(Errc::invalid_argument, kOrigin, std::move(*wrong));
  }
  return std::nullopt;
}

RoomId Router::draw_room(const GenerationRequest& request) {
  RoomId id;
  if (mutant(Mutant::rooms_are_counted) || mutant(Mutant::rooms_are_named_by_clients)) {
    id.value = mutant(Mutant::rooms_are_counted) ? turn_ : std::hash<std::string>()(request.client_id) | 1;
    return id;
  }
  do {
    id.value = random_.next();
  } while (id.value == 0 || rooms_.contains(id));
  return id;
}

// The ranks by the configured policy; where the caches are, by what they are expected to have as well.
Router::Choice Router::choose(const GenerationRequest& request) {
  Choice choice;
  choice.prefill = policy::choose_rank(prefill_load_, config_.routing, turn_, random_.next());
  choice.decode = policy::choose_rank(decode_load_, config_.routing, turn_, random_.next());
  if (!prefixes_ || !choice.prefill || !choice.decode) {
    return choice;
  }
  const auto prompt = static_cast<std::uint32_t>(request.prompt.size());
  const std::span<const std::uint64_t> names = request.prefix;
  const std::uint32_t reusable = reusable_pages(names.size(), prompt, config_.prefix.page_tokens);
  const std::span<const policy::PrefixHit> hits = prefixes_->match(names.first(reusable));
  std::optional<std::size_t>& chosen = config_.prefix.on_decode ? choice.decode : choice.prefill;
  const std::vector<policy::RankLoad>& loads = config_.prefix.on_decode ? decode_load_ : prefill_load_;
  chosen = policy::choose_by_prefix(loads, hits, config_.prefix.slack_tokens, turn_);
  if (const auto hit = std::ranges::find(hits, *chosen, &policy::PrefixHit::rank); hit != hits.end()) {
    choice.cached_tokens = hit->tokens;
  }
  prefixes_->sent(names, *chosen);
  return choice;
}

// False when no rank of one kind is usable.
bool Router::dispatch(Sample& sample, GenerationRequest request) {
  name_prefix(request);
  const auto [prefill, decode, cached_tokens] = choose(request);
  if (!prefill || !decode) {
    return false;
  }
  ++turn_;
  const bool aggregated = ranks_.decode[*decode].rank.role == Role::aggregated;
  const TimePoint now = context_.now();
  const Duration limit = request.time_limit > Duration::zero() ? request.time_limit : config_.time_limit;
  auto shared = std::make_shared<const GenerationRequest>(std::move(request));
  const PeerId to_decode = ranks_.decode[*decode];
  const PeerId to_prefill = aggregated ? to_decode : ranks_.prefill[*prefill];
  auto owned = std::make_unique<RouterRoom>(draw_room(*shared), shared, sample, RouterLeg{*prefill, to_prefill},
                                            RouterLeg{*decode, to_decode}, now, add_saturating(now, limit));
  RouterRoom& room = *owned;
  (config_.prefix.on_decode ? room.decode : room.prefill).cached_tokens = cached_tokens;
  sample.opened(room.id, now);
  prefill_load_[*prefill].outstanding_tokens += room.prefill_tokens();
  decode_load_[*decode].outstanding_tokens += room.decode_tokens();
  deadlines_.add(mutant(Mutant::router_ignores_deadline) ? kNever : room.deadline, room.id);
  deadline_.notify();
  const bool fresh = !rooms_.contains(room.id);
  BATON_CHECK(fresh, to_string(room.id));
  rooms_.emplace(room.id, std::move(owned));
  open_gauge_.add(1);
  if (!aggregated) {
    const std::size_t named = *prefill + (mutant(Mutant::legs_choose_apart) ? 1 : 0);
    const PeerId sender = ranks_.prefill[named % ranks_.prefill.size()];
    link_.post(sender.rank, Job(room.id, shared, sender, to_decode, now, room.deadline, self()));
  }
  link_.post(to_decode.rank, Job(room.id, shared, to_prefill, to_decode, now, room.deadline, self()));
  return true;
}

// What the front end has named stays.
void Router::name_prefix(GenerationRequest& request) const {
  const PrefixRouting& prefix = config_.prefix;
  if (prefix.page_tokens > 0 && !prefix.named_by_front_end && request.prefix.empty()) {
    request.prefix = prefix_keys(request.prompt, prefix.page_tokens, prefix_root(request.cache_salt, prefix.seed));
  }
}

void Router::expire_ranks() {
  for (const PeerId& peer : membership_.expire(context_.now())) {
    lose({peer}, fmt::format("{} was not heard for {} heartbeats", to_string(peer.rank), config_.liveness.missed));
  }
}

// The context may have stood still: then what came in time lies in the inbox, or is about to be let in, which the yield
// waits for. It counts before anybody is given up.
Task<> Router::watch_deadlines() {
  for (;;) {
    const bool due = std::min(deadlines_.next(), membership_.next()) <= context_.now();
    if (due && !mutant(Mutant::router_judges_unread)) {
      co_await yield(context_);
      take_inbox();
    }
    while (const std::optional<RoomId> id = deadlines_.expired(context_.now())) {
      saw(room_event::kDeadline, *id);
      end(*id, Failure(Errc::timeout, kOrigin, "the request's deadline passed"), std::nullopt);
    }
    expire_ranks();
    co_await deadline_.wait_until(std::min(deadlines_.next(), membership_.next()));
  }
}

}  // namespace baton
