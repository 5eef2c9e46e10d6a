#include "model/text/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/text/row_math.h"
#include "runtime/check.h"

namespace baton {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kForSure = std::numeric_limits<float>::infinity();

std::uint64_t mixed(std::uint64_t x) noexcept {
  // The finaliser of SplitMix64: Steele, Lea, Flood, OOPSLA 2014, with the constants of Stafford's variant 13.
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio, SplitMix64's increment

}  // namespace

double uniform_at(std::uint64_t seed, std::uint64_t position) noexcept {
  const std::uint64_t bits = mixed(mixed(seed + kGolden) + (position + 1) * kGolden);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

std::uint64_t sample_seed(std::uint64_t seed, std::uint32_t index) noexcept {
  return index == 0 ? seed : mixed(mixed(seed) ^ (index * kGolden));
}

float logprob_of(float logit, float log_sum) {
  if (logit == kForSure) {
    return 0.0F;
  }
  const float logprob = logit - log_sum;
  return logprob > kLogprobMin ? logprob : kLogprobMin;
}

Result<SampledToken> Sampler::sample(std::span<const float> logits, const SamplingParams& params,
                                     const TokenHistory& history, std::uint64_t position,
                                     std::span<const TokenId> banned) {
  BATON_CHECK(!logits.empty());
  const std::span<const float> row = adjusted(logits, params, history, banned);
  const float highest = row_max(row);
  if (highest == kNever) {
    return Errc::internal;
  }
  SampledToken token;
  // Plus infinity cannot be weighed against anything: it wins, as it does in greedy choice.
  const bool certain = params.greedy() || highest == kForSure;
  token.id = certain ? row_find(row, highest) : draw(row, params, uniform_at(params.seed, position), highest);
  if (params.wants_logprobs()) {
    const float log_sum = log_sum_exp(logits);
    token.logprob = logprob_of(logits[static_cast<std::size_t>(token.id)], log_sum);
    token.top = top_logprobs(logits, params.top_logprobs, log_sum);
  }
  return token;
}

// The row itself where no logit changes, else its changed copy in row_.
std::span<const float> Sampler::adjusted(std::span<const float> logits, const SamplingParams& params,
                                         const TokenHistory& history, std::span<const TokenId> banned) {
  const bool penalties =
      params.repetition_penalty != 1.0F || params.presence_penalty != 0.0F || params.frequency_penalty != 0.0F;
  if (!penalties && params.logit_bias.empty() && params.allowed_token_ids.empty() && banned.empty()) {
    return logits;
  }
  row_.assign(logits.begin(), logits.end());
  for (const auto& [id, bias] : params.logit_bias) {
    if (in_row(id)) {
      row_[static_cast<std::size_t>(id)] += bias;
    }
  }
  if (!params.allowed_token_ids.empty()) {
    weights_.assign(row_.size(), kNever);
    for (const TokenId id : params.allowed_token_ids) {
      if (in_row(id)) {
        weights_[static_cast<std::size_t>(id)] = row_[static_cast<std::size_t>(id)];
      }
    }
    row_.swap(weights_);
  }
  for (const TokenId id : banned) {
    if (in_row(id)) {
      row_[static_cast<std::size_t>(id)] = kNever;
    }
  }
  penalise_repetition(params, history);
  penalise_output(params, history.output);
  return row_;
}

bool Sampler::in_row(TokenId id) const noexcept {
  return id >= 0 && static_cast<std::size_t>(id) < row_.size();
}

void Sampler::penalise_repetition(const SamplingParams& params, const TokenHistory& history) {
  if (params.repetition_penalty == 1.0F) {
    return;
  }
  seen_.assign(history.prompt.begin(), history.prompt.end());
  seen_.insert(seen_.end(), history.output.begin(), history.output.end());
  std::sort(seen_.begin(), seen_.end());
  seen_.erase(std::unique(seen_.begin(), seen_.end()), seen_.end());
  for (const TokenId id : seen_) {
    if (in_row(id)) {
      float& logit = row_[static_cast<std::size_t>(id)];
      logit = logit > 0.0F ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    }
  }
}

void Sampler::penalise_output(const SamplingParams& params, std::span<const TokenId> output) {
  if (params.presence_penalty == 0.0F && params.frequency_penalty == 0.0F) {
    return;
  }
  seen_.assign(output.begin(), output.end());
  std::sort(seen_.begin(), seen_.end());
  for (std::size_t begin = 0, end = 0; begin < seen_.size(); begin = end) {
    while (end < seen_.size() && seen_[end] == seen_[begin]) {
      ++end;
    }
    if (in_row(seen_[begin])) {
      const auto count = static_cast<float>(end - begin);
      row_[static_cast<std::size_t>(seen_[begin])] -= params.presence_penalty + params.frequency_penalty * count;
    }
  }
}

TokenId Sampler::draw(std::span<const float> row, const SamplingParams& params, double uniform, float highest) {
  const bool limited = params.top_k > 0 || params.min_p > 0.0F;
  if (!limited && params.top_p >= 1.0F) {
    return draw_from_all(row, params, uniform, highest);
  }
  const double total = limited ? gather_limited(row, params, highest) : gather_nucleus(row, params, highest);
  const auto weight_of = [](const Candidate& candidate) { return static_cast<double>(candidate.weight); };
  if (params.top_p < 1.0F) {
    candidates_.resize(select_best(total * static_cast<double>(params.top_p), weight_of));
  }
  double mass = 0.0;
  for (const Candidate& candidate : candidates_) {
    mass += weight_of(candidate);
  }
  const double target = uniform * mass;
  double sum = 0.0;
  for (const Candidate& candidate : candidates_) {
    sum += weight_of(candidate);
    if (sum > target) {
      return candidate.id;
    }
  }
  return candidates_.back().id;
}

TokenId Sampler::draw_from_all(std::span<const float> row, const SamplingParams& params, double uniform,
                               float highest) {
  weights_.resize(row.size());
  const double target = uniform * row_exp(row, highest, 1.0F / params.temperature, weights_);
  double sum = 0.0;
  std::size_t last = 0;  // rounding may leave the sum at the target: then the last one possible
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] > 0.0F) {
      sum += static_cast<double>(weights_[i]);
      last = i;
      if (sum > target) {
        break;
      }
    }
  }
  return static_cast<TokenId>(last);
}

bool Sampler::better(const Candidate& a, const Candidate& b) noexcept {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// min_p, then top_k; returns the sum of the weights.
double Sampler::gather_limited(std::span<const float> row, const SamplingParams& params, float highest) {
  const float floor = params.min_p > 0.0F ? highest + params.temperature * std::log(params.min_p) : kNever;
  const std::size_t k_max = params.top_k > 0 ? static_cast<std::size_t>(params.top_k) : row.size();
  candidates_.clear();
  float least = floor;  // rises to the worst of the best k seen so far
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!(row[i] >= least) || row[i] == kNever) {
      continue;
    }
    candidates_.emplace_back(row[i], static_cast<TokenId>(i));
    if (candidates_.size() >= 2 * k_max + kSlack) {
      keep_best(k_max);
      least = std::min_element(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
                return a.logit < b.logit;
              })->logit;
    }
  }
  keep_best(k_max);
  double total = 0.0;
  for (Candidate& candidate : candidates_) {
    candidate.weight = exp_not_positive((candidate.logit - highest) / params.temperature);
    total += static_cast<double>(candidate.weight);
  }
  return total;
}

void Sampler::keep_best(std::size_t k) {
  if (candidates_.size() > k) {
    candidates_.resize(select_best(static_cast<double>(k), [](const Candidate&) { return 1.0; }));
  }
}

// Moves the best candidates to the front, the fewest that measure `wanted` together, and returns their number. Linear:
// halves are split off by a pivot and only the one that holds the boundary is looked at again. Written out, since the
// order in which std::nth_element leaves its halves, and with it the draw, would depend on the library.
template <class Measure>
std::size_t Sampler::select_best(double wanted, Measure measure) {
  std::size_t begin = 0;
  std::size_t end = candidates_.size();
  while (end - begin > 1) {
    // The middle one of three spread over the range goes first, as the pivot.
    std::size_t first = begin;
    std::size_t middle = begin + (end - begin) / 2;
    const std::size_t last = end - 1;
    if (better(candidates_[middle], candidates_[first])) {
      std::swap(first, middle);
    }
    if (better(candidates_[last], candidates_[middle])) {
      middle = better(candidates_[last], candidates_[first]) ? first : last;
    }
    std::swap(candidates_[begin], candidates_[middle]);
    const Candidate pivot = candidates_[begin];
    std::size_t boundary = begin + 1;  // end of those that are better than the pivot
    double measured = 0.0;
    for (std::size_t i = begin + 1; i < end; ++i) {
      if (better(candidates_[i], pivot)) {
        measured += measure(candidates_[i]);
        std::swap(candidates_[i], candidates_[boundary++]);
      }
    }
    std::swap(candidates_[begin], candidates_[boundary - 1]);  // better ones, pivot, others
    if (measured >= wanted) {
      end = boundary - 1;
      continue;
    }
    wanted -= measured + measure(pivot);
    if (wanted <= 0.0) {
      return boundary;
    }
    begin = boundary;
  }
  return end;
}

// top_p alone: the sum is over the whole row, but only tokens that can be in the nucleus become candidates. All tokens
// below (1 - top_p) / n of the sum weigh less than 1 - top_p together, so the others alone reach top_p.
double Sampler::gather_nucleus(std::span<const float> row, const SamplingParams& params, float highest) {
  weights_.resize(row.size());
  const double total = row_exp(row, highest, 1.0F / params.temperature, weights_);
  const double share = (1.0 - static_cast<double>(params.top_p)) * total / static_cast<double>(row.size());
  const auto least = static_cast<float>(share * 0.999);  // a little room for rounding
  candidates_.clear();
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (weights_[i] >= least && weights_[i] > 0.0F) {
      candidates_.emplace_back(row[i], static_cast<TokenId>(i), weights_[i]);
    }
  }
  return total;
}

Result<SampledToken> sample(std::span<const float> logits, const SamplingParams& params, const TokenHistory& history,
                            std::uint64_t position, std::span<const TokenId> banned) {
  return Sampler().sample(logits, params, history, position, banned);
}

float log_sum_exp(std::span<const float> logits) {
  const float highest = row_max(logits);
  if (highest == kNever || highest == kForSure) {
    return highest;
  }
  return static_cast<float>(static_cast<double>(highest) + std::log(row_sum_exp(logits, highest)));
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, std::size_t count, float log_sum) {
  std::vector<TokenLogprob> best;  // while scanning: logits, as a heap with the worst in front
  const auto better = [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob > b.logprob || (a.logprob == b.logprob && a.id < b.id);
  };
  best.reserve(std::min(count, logits.size()));
  for (std::size_t i = 0; i < logits.size() && count > 0; ++i) {
    const float least = best.size() < count ? kNever : best.front().logprob;
    if (!(logits[i] > least)) {
      continue;
    }
    if (best.size() == count) {
      std::pop_heap(best.begin(), best.end(), better);
      best.pop_back();
    }
    best.emplace_back(static_cast<TokenId>(i), logits[i]);
    std::push_heap(best.begin(), best.end(), better);
  }
  std::sort_heap(best.begin(), best.end(), better);
  for (TokenLogprob& entry : best) {
    entry.logprob = logprob_of(entry.logprob, log_sum);
  }
  return best;
}

}  // namespace baton
