// The engine against the NumPy reference (tools/numpy_reference.py, float64) on the tiny models of every architecture.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "tests/model/engine/forward_fixture.h"

namespace baton::test {
namespace {

namespace json = boost::json;

// How far the results may be off, each twice to four times what was seen: f32 sums of some hundred terms were 2.4e-5
// off at most, 16-bit weights 0.02; activations in 8 bits 0.29 (rms 0.06), in models of width 64, where few errors
// average out.
constexpr double kExactBound = 1e-4;
constexpr double kHalfBound = 0.06;
constexpr double kInt8Bound = 0.6;
constexpr double kInt8RmsBound = 0.12;

struct Case {
  std::vector<TokenId> tokens;
  std::vector<double> logits;
  std::vector<TokenId> greedy;
  std::vector<double> margins;
  std::vector<std::vector<std::pair<TokenId, double>>> top;  // by position of the prompt
};

struct Reference {
  std::string model;
  std::vector<Case> cases;
};

template <class T>
std::vector<T> numbers(const json::value& array) {
  std::vector<T> result;
  for (const json::value& item : array.as_array()) {
    result.push_back(item.to_number<T>());
  }
  return result;
}

Reference read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const json::value root = json::parse(text.str());
  Reference reference{root.at("model").as_string().c_str(), {}};
  for (const json::value& prompt : root.at("prompts").as_array()) {
    Case item;
    item.tokens = numbers<TokenId>(prompt.at("tokens"));
    item.logits = numbers<double>(prompt.at("logits"));
    item.greedy = numbers<TokenId>(prompt.at("greedy"));
    item.margins = numbers<double>(prompt.at("margins"));
    for (const json::value& position : prompt.at("top").as_array()) {
      item.top.emplace_back();
      for (const json::value& pair : position.as_array()) {
        item.top.back().emplace_back(pair.at(0).to_number<TokenId>(), pair.at(1).to_number<double>());
      }
    }
    reference.cases.push_back(std::move(item));
  }
  return reference;
}

std::vector<std::filesystem::path> reference_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/data/reference")) {
    if (entry.path().filename().string().starts_with("numpy_")) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

double log_sum(const Logits& logits) {
  double sum = 0;
  for (const float value : logits) {
    sum += std::exp(static_cast<double>(value));
  }
  return std::log(sum);
}

TokenId best(const Logits& logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

struct Distance {
  double largest = 0;
  double squares = 0;
  std::size_t count = 0;

  void add(double difference) {
    largest = std::max(largest, std::fabs(difference));
    squares += difference * difference;
    ++count;
  }
  double rms() const { return std::sqrt(squares / static_cast<double>(count)); }
};

// Logits of the last prompt token and the log-probabilities of the likely tokens at every position, computed in one
// prefill for the first and token by token for the second, so that both ways are held against the reference.
Distance distance(kernels::ComputePool& pool, const Weights& weights, KvType type, const Case& item) {
  const KvLayout layout = layout_of(weights.shape(), 16, type);
  TestArena arena(layout, 256, 1);
  Distance result;
  TestSequence whole(arena, item.tokens);
  const Logits last = advance(pool, weights, {{&whole, item.tokens.size()}}).at(0);
  REQUIRE(last.size() == item.logits.size());
  for (std::size_t i = 0; i < last.size(); ++i) {
    result.add(static_cast<double>(last[i]) - item.logits[i]);
  }
  TestSequence stepped(arena, item.tokens);
  const std::vector<Logits> all = token_by_token(pool, weights, stepped);
  for (std::size_t position = 0; position < all.size(); ++position) {
    const double sum = log_sum(all[position]);
    for (const auto& [id, logprob] : item.top[position]) {
      result.add(static_cast<double>(all[position][static_cast<std::size_t>(id)]) - sum - logprob);
    }
  }
  return result;
}

// Follows the reference's greedy tokens; where the engine prefers another one the reference must call it a near-tie.
void check_greedy(kernels::ComputePool& pool, const Weights& weights, const Case& item, double bound) {
  const KvLayout layout = layout_of(weights.shape(), 16, KvType::f32);
  TestArena arena(layout, 256, 2);
  std::vector<TokenId> tokens = item.tokens;
  tokens.insert(tokens.end(), item.greedy.begin(), item.greedy.end());
  TestSequence sequence(arena, tokens);
  Logits logits = advance(pool, weights, {{&sequence, item.tokens.size()}}).at(0);
  for (std::size_t i = 0; i < item.greedy.size(); ++i) {
    if (best(logits) != item.greedy[i]) {
      INFO("step ", i, ": margin of the reference ", item.margins[i]);
      CHECK(item.margins[i] < 2 * bound);
    }
    logits = advance(pool, weights, {{&sequence, 1}}).at(0);
  }
}

bool uses_int8(const Weights& weights) {
  const LayerWeights& layer = weights.layer(0);
  return kernels::is_quantised(layer.qkv.format) || kernels::is_quantised(layer.output.format) ||
         kernels::is_quantised(layer.gate_up.format) || kernels::is_quantised(layer.down.format);
}

std::shared_ptr<const Weights> load(const std::string& model, Numerics numerics, kernels::ComputePool& pool) {
  WeightsOptions options;
  options.numerics = numerics;
  options.pool = &pool;
  return Weights::load(ModelSource::open(model), options);
}

TEST_CASE("Forward: exact numerics equal the float64 reference up to rounding, on every architecture") {
  kernels::ComputePool pool(2);
  REQUIRE(reference_files().size() >= 5);
  for (const std::filesystem::path& file : reference_files()) {
    const Reference reference = read(file);
    CAPTURE(reference.model);
    const auto weights = load(reference.model, Numerics::exact, pool);
    for (const Case& item : reference.cases) {
      const Distance off = distance(pool, *weights, KvType::f32, item);
      CHECK(off.largest < kExactBound);
      check_greedy(pool, *weights, item, kExactBound);
    }
  }
}

TEST_CASE("Forward: fast numerics stay within the bounds of their formats, on every architecture") {
  kernels::ComputePool pool(2);
  for (const std::filesystem::path& file : reference_files()) {
    const Reference reference = read(file);
    CAPTURE(reference.model);
    const auto weights = load(reference.model, Numerics::fast, pool);
    const double bound = uses_int8(*weights) ? kInt8Bound : kHalfBound;
    for (const Case& item : reference.cases) {
      const Distance off = distance(pool, *weights, KvType::f16, item);
      CHECK(off.largest < bound);
      CHECK(off.rms() < kInt8RmsBound);
      check_greedy(pool, *weights, item, bound);
    }
  }
}

}  // namespace
}  // namespace baton::test
