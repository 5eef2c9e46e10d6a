#include "model/text/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/text/row_math.h"

namespace baton {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

SamplingParams greedy() {
  SamplingParams params;
  params.temperature = 0.0F;
  return params;
}

std::vector<float> random_row(std::mt19937& random, std::size_t size, float width = 3.0F) {
  std::normal_distribution<float> normal(0.0F, width);
  std::vector<float> row(size);
  for (float& logit : row) {
    logit = normal(random);
  }
  return row;
}

TokenId drawn(const std::vector<float>& row, const SamplingParams& params, std::uint64_t position = 0,
              const TokenHistory& history = {}, std::vector<TokenId> banned = {}) {
  return sample(row, params, history, position, banned).value().id;
}

// The distribution that the documented steps leave, in double and without any shortcut: token to probability.
std::map<TokenId, double> naive_distribution(const std::vector<float>& row, const SamplingParams& params) {
  std::vector<std::pair<double, TokenId>> scaled;  // (-logit / temperature, id): ascending = best first, ties by id
  for (std::size_t i = 0; i < row.size(); ++i) {
    scaled.emplace_back(-static_cast<double>(row[i]) / static_cast<double>(params.temperature),
                        static_cast<TokenId>(i));
  }
  std::sort(scaled.begin(), scaled.end());
  const double best = scaled.front().first;
  std::vector<std::pair<double, TokenId>> kept;
  for (const auto& [negative, id] : scaled) {
    const double weight = std::exp(best - negative);
    const bool below_min_p = params.min_p > 0.0F && weight < static_cast<double>(params.min_p);
    if (!below_min_p && (params.top_k <= 0 || kept.size() < static_cast<std::size_t>(params.top_k))) {
      kept.emplace_back(weight, id);
    }
  }
  double total = 0.0;
  for (const auto& [weight, id] : kept) {
    total += weight;
  }
  double mass = 0.0;
  std::size_t count = 0;
  while (count < kept.size() && (params.top_p >= 1.0F || mass < static_cast<double>(params.top_p) * total)) {
    mass += kept[count++].first;
  }
  std::map<TokenId, double> distribution;
  for (std::size_t i = 0; i < count; ++i) {
    distribution[kept[i].second] = kept[i].first / mass;
  }
  return distribution;
}

TEST_CASE("row math: exp is exact to a few units in the last place and zero far down") {
  for (float x = 0.0F; x > -87.0F; x -= 0.00731F) {
    const double exact = std::exp(static_cast<double>(x));
    REQUIRE(std::abs(static_cast<double>(exp_not_positive(x)) - exact) <= 3e-7 * exact);
  }
  CHECK(exp_not_positive(0.0F) == 1.0F);
  CHECK(exp_not_positive(-90.0F) == 0.0F);
  CHECK(exp_not_positive(-kInfinity) == 0.0F);
  CHECK(exp_not_positive(kNan) == 0.0F);
}

TEST_CASE("row math: the maximum is found in any lane and NaN is passed over") {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<float> row = random_row(random, 1 + random() % 100);
    row[random() % row.size()] = 50.0F;
    if (row.size() > 1) {
      const std::size_t place = random() % row.size();
      row[place] = row[place] == 50.0F ? 50.0F : kNan;
    }
    REQUIRE(row_max(row) == 50.0F);
    REQUIRE(row[static_cast<std::size_t>(row_find(row, 50.0F))] == 50.0F);
  }
}

TEST_CASE("sampling: greedy takes the highest logit and of equal ones the first") {
  CHECK(drawn({0.5F, 2.0F, -1.0F, 2.0F}, greedy()) == 1);
  CHECK(drawn({-5.0F}, greedy()) == 0);
  SamplingParams nearly = greedy();
  nearly.temperature = 1e-6F;
  CHECK(drawn({0.5F, 2.0F, -1.0F, 2.0F}, nearly) == 1);
}

TEST_CASE("sampling: NaN and infinities do no harm") {
  CHECK(drawn({kNan, 1.0F, kNan, 0.0F}, greedy()) == 1);
  CHECK(drawn({kNan, 1.0F, -kInfinity}, SamplingParams()) == 1);
  CHECK(drawn({0.0F, kInfinity, 3.0F}, SamplingParams()) == 1);
  CHECK(sample(std::vector<float>{kNan, -kInfinity}, greedy(), {}, 0).error() == Errc::internal);
  CHECK(sample(std::vector<float>{1.0F, 2.0F}, greedy(), {}, 0, std::vector<TokenId>{0, 1}).error() == Errc::internal);
  SamplingParams limited;
  limited.top_p = 0.9F;
  limited.logprobs = true;
  limited.top_logprobs = 5;
  const auto token = sample(std::vector<float>{kNan, 1.0F, -kInfinity, kNan}, limited, {}, 0).value();
  CHECK(token.id == 1);
  CHECK(token.logprob == doctest::Approx(0.0F));
  CHECK(token.top == std::vector<TokenLogprob>{{1, 0.0F}});
}

TEST_CASE("sampling: the draw depends on seed and position alone") {
  std::mt19937 random(3);
  const std::vector<float> row = random_row(random, 1000);
  Sampler sampler;
  SamplingParams params;
  params.top_p = 0.95F;
  std::map<TokenId, int> seen;
  for (std::uint64_t position = 0; position < 200; ++position) {
    params.seed = 42;
    const TokenId first = sampler.sample(row, params, {}, position).value().id;
    CHECK(drawn(row, params, position) == first);
    ++seen[first];
  }
  CHECK(seen.size() > 20);
  // Fixed values: a change of the hash changes what every seeded request gives.
  CHECK(uniform_at(0, 0) == 0.6524484863740322);
  CHECK(uniform_at(42, 7) == 0.7347204584623639);
  CHECK(sample_seed(7, 1) == 15613610022589591469U);
  CHECK(sample_seed(7, 0) == 7);
  CHECK(sample_seed(7, 1) != sample_seed(7, 2));
}

TEST_CASE("sampling: uniform numbers fill the unit interval evenly along seeds and positions") {
  std::vector<int> by_position(10), by_seed(10);
  for (std::uint64_t i = 0; i < 100000; ++i) {
    ++by_position[static_cast<std::size_t>(uniform_at(5, i) * 10.0)];
    ++by_seed[static_cast<std::size_t>(uniform_at(i, 5) * 10.0)];
  }
  for (std::size_t bin = 0; bin < 10; ++bin) {
    CHECK(by_position[bin] == doctest::Approx(10000).epsilon(0.05));
    CHECK(by_seed[bin] == doctest::Approx(10000).epsilon(0.05));
  }
}

TEST_CASE("sampling: frequencies follow the distribution that the documented steps leave") {
  std::mt19937 random(4);
  for (int round = 0; round < 24; ++round) {
    const std::vector<float> row = random_row(random, 40, 1.5F);
    SamplingParams params;
    params.temperature = round % 3 == 0 ? 1.0F : 0.5F + 0.05F * static_cast<float>(round);
    params.top_k = round % 2 == 0 ? 0 : 1 + round;
    params.top_p = round % 4 < 2 ? 1.0F : 0.8F;
    params.min_p = round % 5 == 0 ? 0.05F : 0.0F;
    params.seed = static_cast<std::uint64_t>(round);
    const std::map<TokenId, double> expected = naive_distribution(row, params);
    std::map<TokenId, int> counts;
    constexpr int kDraws = 20000;
    Sampler sampler;
    for (int i = 0; i < kDraws; ++i) {
      ++counts[sampler.sample(row, params, {}, static_cast<std::uint64_t>(i)).value().id];
    }
    for (const auto& [id, count] : counts) {
      REQUIRE_MESSAGE(expected.contains(id), "token ", id, " in round ", round);
    }
    for (const auto& [id, probability] : expected) {
      const double deviation = std::sqrt(kDraws * probability * (1.0 - probability));
      CHECK(std::abs(counts[id] - kDraws * probability) <= 5.0 * deviation + 1.0);
    }
  }
}

TEST_CASE("sampling: on rows of real size only tokens of the naive distribution are drawn, and the last one can be") {
  std::mt19937 random(5);
  Sampler sampler;
  for (int round = 0; round < 30; ++round) {
    const std::vector<float> row = random_row(random, 50000, round % 2 == 0 ? 0.5F : 3.0F);
    SamplingParams params;
    params.top_k = round % 3 == 0 ? 0 : (round % 3 == 1 ? 50 : 20000);
    params.top_p = round % 4 == 0 ? 1.0F : 0.9F;
    params.min_p = round % 5 == 0 ? 0.02F : 0.0F;
    const std::map<TokenId, double> expected = naive_distribution(row, params);
    for (std::uint64_t position = 0; position < 20; ++position) {
      REQUIRE(expected.contains(sampler.sample(row, params, {}, position).value().id));
    }
  }
}

TEST_CASE("sampling: bias, bans and allowed ids") {
  SamplingParams params = greedy();
  params.logit_bias = {{2, 10.0F}};
  CHECK(drawn({3.0F, 2.0F, 1.0F}, params) == 2);
  CHECK(drawn({3.0F, 2.0F, 1.0F}, params, 0, {}, {2}) == 0);
  CHECK(drawn({3.0F, 2.0F, 1.0F}, greedy(), 0, {}, {-1, 99, 0}) == 1);
  SamplingParams allowed = greedy();
  allowed.allowed_token_ids = {1, 2};
  CHECK(drawn({3.0F, 2.0F, 1.0F}, allowed) == 1);
}

TEST_CASE("sampling: penalties look where their names say") {
  const std::vector<TokenId> prompt = {0, 0, 0};
  const std::vector<TokenId> output = {1, 1, 1, 99, -4};
  const TokenHistory history{prompt, output};
  SamplingParams repetition = greedy();
  repetition.repetition_penalty = 2.0F;
  CHECK(drawn({4.0F, 3.9F, 2.1F}, repetition, 0, history) == 2);     // 2, 1.95, 2.1
  CHECK(drawn({-1.0F, -1.1F, -1.9F}, repetition, 0, history) == 2);  // -2, -2.2, -1.9
  SamplingParams presence = greedy();
  presence.presence_penalty = 1.0F;
  CHECK(drawn({3.0F, 3.9F, 0.0F}, presence, 0, history) == 0);  // the prompt does not count: 3, 2.9
  CHECK(drawn({2.8F, 3.9F, 0.0F}, presence, 0, history) == 1);
  SamplingParams frequency = greedy();
  frequency.frequency_penalty = 1.0F;
  CHECK(drawn({1.0F, 3.9F, 0.0F}, frequency, 0, history) == 0);  // three times: 0.9
}

TEST_CASE("sampling: log-probabilities are those of the raw logits") {
  std::mt19937 random(6);
  const std::vector<float> row = random_row(random, 5000);
  SamplingParams params;
  params.temperature = 0.3F;
  params.logit_bias = {{17, 50.0F}};
  params.top_logprobs = 20;
  const SampledToken token = sample(row, params, {}, 1).value();
  double sum = 0.0;
  for (const float logit : row) {
    sum += std::exp(static_cast<double>(logit));
  }
  CHECK(token.id == 17);
  CHECK(token.logprob == doctest::Approx(static_cast<double>(row[17]) - std::log(sum)).epsilon(1e-5));
  std::vector<std::size_t> order(row.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
  REQUIRE(token.top.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(token.top[i].id == static_cast<TokenId>(order[i]));
    CHECK(token.top[i].logprob == doctest::Approx(static_cast<double>(row[order[i]]) - std::log(sum)).epsilon(1e-5));
  }
}

TEST_CASE("sampling: without a wish for log-probabilities there are none") {
  const SampledToken token = sample(std::vector<float>{1.0F, 2.0F}, greedy(), {}, 0).value();
  CHECK(token == SampledToken(1, 0.0F, {}));
}

TEST_CASE("sampling: validate names the field and its value") {
  const auto problem = [](auto change) {
    SamplingParams params;
    change(params);
    return params.validate(100).value_or("");
  };
  CHECK(problem([](SamplingParams&) {}).empty());
  CHECK(problem([](SamplingParams& p) { p.temperature = -0.5F; }) ==
        "temperature must be a number not below 0, got -0.5");
  CHECK(problem([](SamplingParams& p) { p.temperature = kNan; }).starts_with("temperature"));
  CHECK(problem([](SamplingParams& p) { p.top_p = 0.0F; }) == "top_p must be in (0, 1], got 0");
  CHECK(problem([](SamplingParams& p) { p.top_p = 1.5F; }).starts_with("top_p"));
  CHECK(problem([](SamplingParams& p) { p.top_k = -2; }).ends_with("got -2"));
  CHECK(problem([](SamplingParams& p) { p.min_p = 2.0F; }).starts_with("min_p"));
  CHECK(problem([](SamplingParams& p) { p.repetition_penalty = 0.0F; }).starts_with("repetition_penalty"));
  CHECK(problem([](SamplingParams& p) { p.presence_penalty = 3.0F; }).starts_with("presence_penalty"));
  CHECK(problem([](SamplingParams& p) { p.frequency_penalty = -3.0F; }).starts_with("frequency_penalty"));
  CHECK(problem([](SamplingParams& p) { p.logit_bias = {{100, 1.0F}}; }).starts_with("logit_bias: token id 100"));
  CHECK(problem([](SamplingParams& p) { p.logit_bias = {{1, 101.0F}}; }).ends_with("got 101"));
  CHECK(problem([](SamplingParams& p) { p.allowed_token_ids = {-1}; }).starts_with("allowed_token_ids"));
  CHECK(problem([](SamplingParams& p) { p.top_logprobs = 1000; }).ends_with("got 1000"));
}

}  // namespace
}  // namespace baton
