#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "tests/kernels/kernel_fixture.h"

namespace baton::kernels::test {

namespace {

struct Shape {
  std::uint32_t heads = 6;
  std::uint32_t kv_heads = 2;
  std::uint32_t head_dim = 32;
};

KvLayoutView layout_of(const Shape& shape, std::uint32_t page_tokens, KvType type) {
  const std::size_t value_bytes = type == KvType::f16 ? 2 : 4;
  return {
      2,           shape.kv_heads, shape.head_dim,
      page_tokens, type,           std::size_t{2} * 2 * shape.kv_heads * page_tokens * shape.head_dim * value_bytes};
}

// One sequence's q, k, v for all positions, and its pages in an arena in scrambled order. Unwritten memory is NaN.
struct Case {
  Shape shape;
  std::uint32_t positions = 0;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
};

Case make_case(const Shape& shape, std::uint32_t positions, std::uint32_t seed) {
  return {shape, positions, random_values(std::size_t{positions} * shape.heads * shape.head_dim, seed),
          random_values(std::size_t{positions} * shape.kv_heads * shape.head_dim, seed + 1),
          random_values(std::size_t{positions} * shape.kv_heads * shape.head_dim, seed + 2)};
}

struct Arena {
  KvLayoutView layout;
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> pages;
};

Arena make_arena(const KvLayoutView& layout, std::uint32_t positions) {
  Arena arena;
  arena.layout = layout;
  const std::uint32_t pages = (positions + layout.page_tokens - 1) / layout.page_tokens;
  arena.bytes.assign((pages + 1) * layout.page_bytes, std::byte{0xFF});  // f16 and f32 NaN
  arena.pages.resize(pages);
  std::iota(arena.pages.begin(), arena.pages.end(), 1U);
  std::shuffle(arena.pages.begin(), arena.pages.end(), std::mt19937(5));
  return arena;
}

// Computes positions [begin, end) as one chunk: stores K and V, then attends.
void run_chunk(ComputePool& pool, const Case& c, Arena& arena, std::uint32_t begin, std::uint32_t end,
               std::vector<float>& out) {
  const std::size_t kv_width = std::size_t{c.shape.kv_heads} * c.shape.head_dim;
  const std::size_t width = std::size_t{c.shape.heads} * c.shape.head_dim;
  const AttentionSequence sequence = {arena.bytes.data(), arena.pages.data(), begin, end - begin, 0};
  const float scale = 1.0F / std::sqrt(static_cast<float>(c.shape.head_dim));
  on_lane(pool, [&](Lane& lane) {
    store_kv(lane, arena.layout, 1, {&sequence, 1}, c.k.data() + begin * kv_width, kv_width,
             c.v.data() + begin * kv_width, kv_width);
    attention(lane, arena.layout, 1, {&sequence, 1}, c.q.data() + begin * width, width, c.shape.heads, scale,
              out.data() + begin * width, width);
  });
}

std::vector<float> run_chunked(ComputePool& pool, const Case& c, const KvLayoutView& layout, std::uint32_t chunk) {
  Arena arena = make_arena(layout, c.positions);
  std::vector<float> out(c.q.size());
  for (std::uint32_t begin = 0; begin < c.positions; begin += chunk) {
    run_chunk(pool, c, arena, begin, std::min(c.positions, begin + chunk), out);
  }
  return out;
}

double stored(float value, KvType type) {
  return static_cast<double>(type == KvType::f16 ? f16_to_float(float_to_f16(value)) : value);
}

void naive_row(const Case& c, KvType type, std::uint32_t position, std::uint32_t head, std::vector<double>& out) {
  const std::size_t dim = c.shape.head_dim;
  const std::size_t kv_head = head / (c.shape.heads / c.shape.kv_heads);
  const float* q = c.q.data() + (std::size_t{position} * c.shape.heads + head) * dim;
  std::vector<double> scores(position + 1);
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j <= position; ++j) {
    double dot = 0;
    for (std::size_t d = 0; d < dim; ++d) {
      dot += static_cast<double>(q[d]) * stored(c.k[(j * c.shape.kv_heads + kv_head) * dim + d], type);
    }
    scores[j] = dot / std::sqrt(static_cast<double>(dim));
    largest = std::max(largest, scores[j]);
  }
  double sum = 0;
  out.assign(dim, 0);
  for (std::size_t j = 0; j <= position; ++j) {
    const double weight = std::exp(scores[j] - largest);
    sum += weight;
    for (std::size_t d = 0; d < dim; ++d) {
      out[d] += weight * stored(c.v[(j * c.shape.kv_heads + kv_head) * dim + d], type);
    }
  }
  for (double& value : out) {
    value /= sum;
  }
}

void check_against_naive(const Case& c, KvType type, const std::vector<float>& out) {
  std::vector<double> expected;
  for (std::uint32_t position = 0; position < c.positions; position += position < 70 ? 1 : 37) {
    for (std::uint32_t head = 0; head < c.shape.heads; ++head) {
      naive_row(c, type, position, head, expected);
      const float* row = out.data() + (std::size_t{position} * c.shape.heads + head) * c.shape.head_dim;
      for (std::size_t d = 0; d < c.shape.head_dim; ++d) {
        INFO(position, " ", head, " ", d);
        REQUIRE(std::abs(static_cast<double>(row[d]) - expected[d]) < 3e-6);
      }
    }
  }
}

}  // namespace

TEST_CASE("attention: agrees with double loops for any head shape and storage type") {
  const Shape shapes[] = {{9, 3, 64}, {4, 4, 16}, {2, 1, 128}, {3, 1, 20}, {40, 2, 24}, {1, 1, 256}};
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    for (const Shape& shape : shapes) {
      for (const KvType type : {KvType::f16, KvType::f32}) {
        INFO(to_string(isa), " ", shape.heads, " ", shape.kv_heads, " ", shape.head_dim, " ", static_cast<int>(type));
        const Case c = make_case(shape, 300, 7);
        check_against_naive(c, type, run_chunked(pool, c, layout_of(shape, 16, type), 300));
      }
    }
  }
}

TEST_CASE("attention: chunks, page sizes and threads do not change a bit") {
  const Shape shape = {6, 2, 32};
  const Case c = make_case(shape, 600, 9);
  for (const Isa isa : isas()) {
    ComputePool alone(1, isa);
    const std::vector<float> expected = run_chunked(alone, c, layout_of(shape, 16, KvType::f16), 600);
    for (const unsigned threads : {1U, 2U, 4U}) {
      ComputePool pool(threads, isa);
      for (const std::uint32_t page_tokens : {1U, 16U, 32U, 64U}) {
        for (const std::uint32_t chunk : {1U, 7U, 64U, 100U, 257U, 600U}) {
          INFO(to_string(isa), " ", threads, " ", page_tokens, " ", chunk);
          REQUIRE(same_bits(expected, run_chunked(pool, c, layout_of(shape, page_tokens, KvType::f16), chunk)));
        }
      }
    }
  }
}

// Few rows read the pages themselves, many share a copy of them.
TEST_CASE("attention: a row by itself is the row of a tile to the bit, for any head shape and storage type") {
  const Shape shapes[] = {{2, 2, 64}, {2, 1, 128}, {9, 3, 64}, {4, 1, 80}, {7, 1, 64}, {3, 1, 20}, {20, 1, 24}};
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    for (const Shape& shape : shapes) {
      for (const KvType type : {KvType::f16, KvType::f32}) {
        const Case c = make_case(shape, 270, 11);
        const KvLayoutView layout = layout_of(shape, 16, type);
        const std::vector<float> expected = run_chunked(pool, c, layout, 270);
        for (const std::uint32_t chunk : {1U, 2U, 3U}) {
          INFO(to_string(isa), " ", shape.heads, " ", shape.head_dim, " ", static_cast<int>(type), " ", chunk);
          REQUIRE(same_bits(expected, run_chunked(pool, c, layout, chunk)));
        }
      }
    }
  }
}

TEST_CASE("attention: sequences of one step do not change each other, whatever their arenas") {
  const Shape shape = {9, 3, 64};
  const KvLayoutView layout = layout_of(shape, 16, KvType::f16);
  const std::size_t width = std::size_t{shape.heads} * shape.head_dim;
  const std::size_t kv_width = std::size_t{shape.kv_heads} * shape.head_dim;
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    // Each sequence: its positions but the last few are computed alone; those go into one common step.
    const std::uint32_t last_rows[] = {1, 20, 1, 3, 1};
    const std::uint32_t lengths[] = {5, 90, 513, 300, 64};
    std::vector<Case> cases;
    std::vector<Arena> arenas;
    std::vector<std::vector<float>> expected;
    std::vector<AttentionSequence> sequences;
    std::vector<float> q;
    std::vector<float> k;
    std::vector<float> v;
    for (std::size_t i = 0; i < 5; ++i) {
      cases.push_back(make_case(shape, lengths[i], static_cast<std::uint32_t>(100 + i * 3)));
      expected.push_back(run_chunked(pool, cases[i], layout, lengths[i]));
      arenas.push_back(make_arena(layout, lengths[i]));
    }
    for (std::size_t i = 0; i < 5; ++i) {
      const std::uint32_t begin = lengths[i] - last_rows[i];
      std::vector<float> ignored(cases[i].q.size());
      if (begin > 0) {
        run_chunk(pool, cases[i], arenas[i], 0, begin, ignored);
      }
      sequences.push_back({arenas[i].bytes.data(), arenas[i].pages.data(), begin, last_rows[i],
                           static_cast<std::uint32_t>(q.size() / width)});
      q.insert(q.end(), cases[i].q.begin() + static_cast<std::ptrdiff_t>(begin * width), cases[i].q.end());
      k.insert(k.end(), cases[i].k.begin() + static_cast<std::ptrdiff_t>(begin * kv_width), cases[i].k.end());
      v.insert(v.end(), cases[i].v.begin() + static_cast<std::ptrdiff_t>(begin * kv_width), cases[i].v.end());
    }
    std::vector<float> out(q.size());
    on_lane(pool, [&](Lane& lane) {
      store_kv(lane, layout, 1, sequences, k.data(), kv_width, v.data(), kv_width);
      attention(lane, layout, 1, sequences, q.data(), width, shape.heads, 0.125F, out.data(), width);
    });
    for (std::size_t i = 0; i < 5; ++i) {
      const std::size_t rows = std::size_t{last_rows[i]} * width;
      const float* tail = expected[i].data() + expected[i].size() - rows;
      INFO(to_string(isa), " ", i);
      REQUIRE(std::memcmp(out.data() + sequences[i].first_row * width, tail, rows * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("attention: huge and equal scores stay finite") {
  const Shape shape = {2, 1, 16};
  for (const Isa isa : isas()) {
    ComputePool pool(2, isa);
    Case c = make_case(shape, 130, 3);
    std::fill(c.k.begin(), c.k.end(), 100.0F);
    std::fill(c.q.begin(), c.q.end(), 100.0F);
    check_against_naive(c, KvType::f16, run_chunked(pool, c, layout_of(shape, 16, KvType::f16), 130));
    std::fill(c.q.begin(), c.q.end(), -100.0F);
    c.k[16] = -30000.0F;  // one position far above all others
    check_against_naive(c, KvType::f16, run_chunked(pool, c, layout_of(shape, 16, KvType::f16), 130));
  }
}

TEST_CASE("store_kv: writes only the rows' own slots of the layer") {
  const Shape shape = {2, 2, 16};
  const KvLayoutView layout = layout_of(shape, 4, KvType::f16);
  ComputePool pool(2);
  const Case c = make_case(shape, 10, 3);
  Arena arena = make_arena(layout, 10);
  const AttentionSequence sequence = {arena.bytes.data(), arena.pages.data(), 3, 2, 0};
  on_lane(pool, [&](Lane& lane) { store_kv(lane, layout, 1, {&sequence, 1}, c.k.data(), 32, c.v.data(), 32); });
  const auto* halves = reinterpret_cast<const std::uint16_t*>(arena.bytes.data());
  std::size_t written = 0;
  for (std::size_t i = 0; i < arena.bytes.size() / 2; ++i) {
    written += halves[i] != 0xFFFF ? 1 : 0;
  }
  CHECK(written == 2 * 2 * 2 * 16);  // rows, K and V, heads, head_dim
  // Position 4 is slot 0 of the second page: layer 1, V, head 1.
  const std::size_t page = arena.pages[1] * layout.page_bytes / 2;
  const std::size_t at = page + ((1 * 2 + 1) * 2 + 1) * (4 * 16);
  CHECK(halves[at + 5] == float_to_f16(c.v[32 + 16 + 5]));
}

}  // namespace baton::kernels::test
