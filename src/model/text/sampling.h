// From a row of logits to the next token, with its log-probability.
//
// The order of the steps is vLLM's: logit bias and allowed ids, banned ids, penalties, temperature, min_p, top_k,
// top_p, draw. Log-probabilities are those of the raw logits, before all of that (vLLM's "raw_logprobs").
//
// The draw has no state: it is a hash of (seed, position), so that a request which was retracted, resumed or handed to
// another rank continues with the tokens it would have had. The same logits give the same token on every machine of
// one architecture, whatever compiled it. Ties go to the lower id. NaN counts as minus infinity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/errors.h"
#include "runtime/ids.h"

namespace baton {

struct SamplingParams {
  float temperature = 1.0F;         // below 1e-5: greedy, and top_k, top_p, min_p and seed have no effect
  std::int32_t top_k = 0;           // 0 or -1: off
  float top_p = 1.0F;               // in (0, 1]
  float min_p = 0.0F;               // in [0, 1]: least probability as a fraction of the highest
  float repetition_penalty = 1.0F;  // > 0; over prompt and output: l > 0 is divided by it, else multiplied
  float presence_penalty = 0.0F;    // in [-2, 2]; over the output only: subtracted once
  float frequency_penalty = 0.0F;   // in [-2, 2]; over the output only: subtracted per occurrence
  std::vector<std::pair<TokenId, float>> logit_bias;  // added; each in [-100, 100]
  std::vector<TokenId> allowed_token_ids;             // if not empty: nothing else is ever drawn
  std::uint64_t seed = 0;                             // always set: where the client gave none, the router drew one
  bool logprobs = false;                              // fill SampledToken::logprob; costs one pass over the row
  std::uint32_t top_logprobs = 0;                     // and this many alternatives; implies logprobs

  bool greedy() const noexcept { return temperature < 1e-5F; }
  bool wants_logprobs() const noexcept { return logprobs || top_logprobs > 0; }
  // What is wrong, with the field's API name and its value, in words for the client; nullopt if nothing. Ids are
  // checked against vocab_size (the number of logits).
  std::optional<std::string> validate(std::size_t vocab_size) const;
};

inline constexpr std::uint32_t kTopLogprobsMax = 128;
inline constexpr float kLogprobMin = -9999.0F;  // instead of minus infinity, which JSON cannot carry (as vLLM does)

struct TokenLogprob {
  TokenId id = 0;
  float logprob = 0.0F;

  TokenLogprob() = default;
  TokenLogprob(TokenId id_in, float logprob_in) : id(id_in), logprob(logprob_in) {}
  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

struct SampledToken {
  TokenId id = 0;
  float logprob = 0.0F;           // 0 unless asked for
  std::vector<TokenLogprob> top;  // the most likely ones, best first; the chosen one may be absent

  SampledToken() = default;
  SampledToken(TokenId id_in, float logprob_in, std::vector<TokenLogprob> top_in)
      : id(id_in), logprob(logprob_in), top(std::move(top_in)) {}
  friend bool operator==(const SampledToken&, const SampledToken&) = default;
};

// What the penalties look at. Ids out of the row's range are ignored.
struct TokenHistory {
  std::span<const TokenId> prompt;
  std::span<const TokenId> output;
};

// Keeps scratch memory between calls (a few floats per logit); the result depends on the arguments alone. One per
// rank, not thread-safe.
class Sampler final {
 public:
  // logits: (vocab). position: how many tokens stand before the drawn one, prompt included; a sequence never draws
  // twice at one position. banned: ids that may not be drawn now (the end tokens until min_tokens is reached).
  // Errc::internal when nothing can be drawn: every logit is NaN or minus infinity, or everything is banned.
  Result<SampledToken> sample(std::span<const float> logits, const SamplingParams& params, const TokenHistory& history,
                              std::uint64_t position, std::span<const TokenId> banned = {});

 private:
  struct Candidate {
    float logit = 0.0F;
    TokenId id = 0;
    float weight = 0.0F;  // exp of (logit - highest) / temperature

    Candidate() = default;
    Candidate(float logit_in, TokenId id_in, float weight_in = 0.0F) : logit(logit_in), id(id_in), weight(weight_in) {}
  };
  static constexpr std::size_t kSlack = 256;  // candidates gathered beyond 2 k before the worst are dropped
  static bool better(const Candidate& a, const Candidate& b) noexcept;

  std::span<const float> adjusted(std::span<const float> logits, const SamplingParams& params,
                                  const TokenHistory& history, std::span<const TokenId> banned);
  bool in_row(TokenId id) const noexcept;
  void penalise_repetition(const SamplingParams& params, const TokenHistory& history);
  void penalise_output(const SamplingParams& params, std::span<const TokenId> output);
  TokenId draw(std::span<const float> row, const SamplingParams& params, double uniform, float highest);
  TokenId draw_from_all(std::span<const float> row, const SamplingParams& params, double uniform, float highest);
  double gather_limited(std::span<const float> row, const SamplingParams& params, float highest);
  double gather_nucleus(std::span<const float> row, const SamplingParams& params, float highest);
  template <class Measure>
  std::size_t select_best(double wanted, Measure measure);
  void keep_best(std::size_t k);

  std::vector<float> row_;      // adjusted logits
  std::vector<float> weights_;  // exp of them
  std::vector<Candidate> candidates_;
  std::vector<TokenId> seen_;  // sorted history, for the penalties
};

// Without kept scratch, for tests and single calls.
Result<SampledToken> sample(std::span<const float> logits, const SamplingParams& params, const TokenHistory& history,
                            std::uint64_t position, std::span<const TokenId> banned = {});

// The parts of a log-softmax over raw logits, for echo and prompt log-probabilities: a token's log-probability is
// logprob_of(its logit, log_sum_exp(row)).
float log_sum_exp(std::span<const float> logits);
float logprob_of(float logit, float log_sum);
// The `count` most likely, best first; fewer if fewer are possible at all.
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, std::size_t count, float log_sum);

// In [0, 1), from (seed, position) alone.
double uniform_at(std::uint64_t seed, std::uint64_t position) noexcept;
// The seed of the index-th sample of a request with n > 1; index 0 keeps the request's own.
std::uint64_t sample_seed(std::uint64_t seed, std::uint32_t index) noexcept;

}  // namespace baton
