// A row's logits are the same to the bit however the work around it is arranged.
#include <algorithm>
#include <cstring>
#include <future>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/model/engine/forward_fixture.h"

namespace baton::test {
namespace {

const char* const kModels[] = {"tests/data/models/tiny-llama-3.gguf", "tests/data/models/tiny-llama-mixed.gguf",
                               "tests/data/models/tiny-llama-k.gguf", "tests/data/models/tiny-qwen2.gguf",
                               "tests/data/models/tiny-qwen3.gguf"};

constexpr std::size_t kLength = 90;  // more than a page of 64, more than a panel of rows

bool same_bits(const Logits& a, const Logits& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::shared_ptr<const Weights> load(const std::string& model, Numerics numerics, kernels::ComputePool& pool) {
  WeightsOptions options;
  options.numerics = numerics;
  options.pool = &pool;
  return Weights::load(ModelSource::open(model), options);
}

// What every arrangement is compared with: each sequence alone, token by token, one thread, pages of 16.
struct Baseline {
  std::vector<std::vector<TokenId>> texts;
  std::vector<std::vector<Logits>> logits;  // [text][position]
};

Baseline make_baseline(const Weights& weights, kernels::Isa isa, KvType type) {
  Baseline baseline;
  kernels::ComputePool pool(1, isa);
  for (std::uint32_t i = 0; i < 4; ++i) {
    TestArena arena(layout_of(weights.shape(), 16, type), kLength, i);
    baseline.texts.push_back(random_tokens(kLength - 13 * i, weights.shape().vocab, 100 + i));
    TestSequence sequence(arena, baseline.texts.back());
    baseline.logits.push_back(token_by_token(pool, weights, sequence));
  }
  return baseline;
}

// Computes the texts in steps of random sequences and chunk lengths; every row of logits must be the baseline's.
void check_random_steps(const Weights& weights, const Baseline& baseline, kernels::ComputePool& pool,
                        const KvLayout& layout, std::uint32_t seed) {
  CAPTURE(seed);
  std::mt19937 random(seed);
  TestArena first(layout, 4 * kLength, seed);
  TestArena second(layout, 4 * kLength, seed + 1);
  std::vector<TestSequence> sequences;
  for (std::size_t i = 0; i < baseline.texts.size(); ++i) {
    sequences.emplace_back(i % 2 == 0 ? first : second, baseline.texts[i]);
  }
  std::size_t rows_checked = 0;
  for (;;) {
    std::vector<StepPart> parts;
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (sequences[i].left() == 0 || random() % 3 == 0) {
        continue;
      }
      const std::size_t longest = random() % 2 == 0 ? 1 : sequences[i].left();  // half of them decode
      const std::size_t count = 1 + random() % longest;
      const bool wants = random() % 4 != 0;
      parts.push_back({&sequences[i], count, wants});
      if (wants) {
        wanted.push_back(i);
      }
    }
    if (parts.empty()) {
      const auto unfinished = [](const TestSequence& s) { return s.left() > 0; };
      if (std::none_of(sequences.begin(), sequences.end(), unfinished)) {
        break;
      }
      continue;
    }
    const std::vector<Logits> logits = advance(pool, weights, parts);
    REQUIRE(logits.size() == wanted.size());
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      const std::size_t i = wanted[row];
      const std::uint32_t position = sequences[i].position - 1;
      CAPTURE(i);
      CAPTURE(position);
      REQUIRE(same_bits(logits[row], baseline.logits[i][position]));
      ++rows_checked;
    }
  }
  CHECK(rows_checked > 8);
}

TEST_CASE("Forward: logits do not depend on chunks, batch mix, page size, arena or thread count, to the bit") {
  const kernels::Isa isa = kernels::host_isa();
  for (const char* model : kModels) {
    CAPTURE(model);
    for (const Numerics numerics : {Numerics::fast, Numerics::exact}) {
      kernels::ComputePool loading(2, isa);
      const auto weights = load(model, numerics, loading);
      const KvType type = numerics == Numerics::fast ? KvType::f16 : KvType::f32;
      const Baseline baseline = make_baseline(*weights, isa, type);
      std::uint32_t seed = 1;
      for (const unsigned threads : {1U, 2U, 3U}) {
        kernels::ComputePool pool(threads, isa);
        for (const std::uint32_t page_tokens : {1U, 16U, 32U, 64U}) {
          CAPTURE(threads);
          CAPTURE(page_tokens);
          check_random_steps(*weights, baseline, pool, layout_of(weights->shape(), page_tokens, type), seed++);
        }
      }
    }
  }
}

TEST_CASE("Forward: the portable and the AVX2 kernels are invariant too") {
  for (const kernels::Isa isa : {kernels::Isa::portable, kernels::Isa::avx2}) {
    if (isa > kernels::host_isa()) {
      continue;
    }
    CAPTURE(kernels::to_string(isa));
    kernels::ComputePool pool(2, isa);
    for (const char* model : {"tests/data/models/tiny-llama-mixed.gguf", "tests/data/models/tiny-qwen3.gguf"}) {
      CAPTURE(model);
      const auto weights = load(model, Numerics::fast, pool);
      const Baseline baseline = make_baseline(*weights, isa, KvType::f16);
      for (std::uint32_t seed = 50; seed < 53; ++seed) {
        check_random_steps(*weights, baseline, pool, layout_of(weights->shape(), 32, KvType::f16), seed);
      }
    }
  }
}

TEST_CASE("Forward: more sequences than one group of logits give each its own row") {
  kernels::ComputePool pool(2);
  const auto weights = load("tests/data/models/tiny-qwen2.gguf", Numerics::fast, pool);
  TestArena arena(layout_of(weights->shape(), 16, KvType::f16), 100 * 16, 3);
  const std::size_t count = kLogitsRowsMax + 7;
  std::vector<Logits> alone;
  std::vector<TestSequence> sequences;
  for (std::uint32_t i = 0; i < count; ++i) {
    TestArena own(layout_of(weights->shape(), 16, KvType::f16), 16, i);
    const std::vector<TokenId> tokens = random_tokens(1 + i % 9, weights->shape().vocab, i);
    TestSequence sequence(own, tokens);
    alone.push_back(advance(pool, *weights, {{&sequence, tokens.size()}}).at(0));
    sequences.emplace_back(arena, tokens);
  }
  std::vector<StepPart> parts;
  for (TestSequence& sequence : sequences) {
    parts.push_back({&sequence, sequence.left()});
  }
  const std::vector<Logits> together = advance(pool, *weights, parts);
  REQUIRE(together.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(same_bits(together[i], alone[i]));
  }
}

TEST_CASE("Forward: a decode step nested in a prefill step does not change either") {
  kernels::ComputePool pool(1);
  const auto weights = load(kModels[0], Numerics::fast, pool);
  const Baseline baseline = make_baseline(*weights, pool.isa(), KvType::f16);
  TestArena arena(layout_of(weights->shape(), 16, KvType::f16), 4 * kLength, 7);
  TestSequence prompt(arena, baseline.texts[0]);
  TestSequence decoding(arena, baseline.texts[1]);
  (void)advance(pool, *weights, {{&decoding, 40}});

  // The prefill step submits the decode step from within, so that it waits when the next operator ends.
  std::vector<ForwardSequence> sequences;
  while (prompt.pages.size() < arena.layout().pages_for(prompt.tokens.size())) {
    prompt.pages.push_back(arena.take());
  }
  sequences.push_back({prompt.tokens, 0, arena.base(), prompt.pages.data(), true});
  const std::vector<TokenId> next = {baseline.texts[1][40]};
  const std::vector<ForwardSequence> nested = {{next, 40, arena.base(), decoding.pages.data(), true}};
  Logits prefill_logits;
  Logits decode_logits;
  std::promise<void> decoded;
  const std::size_t vocab = weights->shape().vocab;
  run_on(pool, [&](kernels::Lane& lane) {
    pool.submit(
        kernels::Priority::decode,
        [&](kernels::Lane& inner) {
          CHECK(prefill_logits.empty());  // it ran inside, not after
          forward(inner, *weights, arena.layout(), nested,
                  [&](std::size_t, std::size_t, const float* logits) { decode_logits.assign(logits, logits + vocab); });
        },
        [&](std::exception_ptr error) { error ? decoded.set_exception(error) : decoded.set_value(); });
    forward(lane, *weights, arena.layout(), sequences,
            [&](std::size_t, std::size_t, const float* logits) { prefill_logits.assign(logits, logits + vocab); });
  });
  decoded.get_future().get();
  CHECK(same_bits(prefill_logits, baseline.logits[0].back()));
  CHECK(same_bits(decode_logits, baseline.logits[1][40]));
}

}  // namespace
}  // namespace baton::test
