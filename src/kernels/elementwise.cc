// The operators without a matrix product: each row or run of values is one chunk's business.
#include <algorithm>

#include "kernels/kernel_table.h"
#include "kernels/ops.h"
#include "runtime/check.h"

namespace baton::kernels {

namespace {

// Values a chunk should hold: some microseconds of work, so that handing it over pays.
constexpr std::size_t kChunkValues = 16384;

// Calls f(begin, end) on pieces of [0, count) whose size is a multiple of `unit`. Values are independent of each
// other in every caller, so the cut does not show in the results.
template <class F>
void for_pieces(Lane& lane, std::size_t count, std::size_t per_chunk, F&& f) {
  const std::size_t piece = std::max<std::size_t>(1, per_chunk);
  const std::size_t chunks = (count + piece - 1) / piece;
  lane.parallel_for(static_cast<unsigned>(chunks), [&](unsigned chunk) {
    const std::size_t begin = chunk * piece;
    f(begin, std::min(count, begin + piece));
  });
}

}  // namespace

void embed(Lane& lane, const PackedMatrix& table, std::span<const std::int32_t> tokens, float* out) {
  for (const std::int32_t token : tokens) {
    BATON_CHECK(token >= 0 && static_cast<std::uint32_t>(token) < table.rows, token, table.rows);
  }
  for_pieces(lane, tokens.size(), kChunkValues / 4 / table.cols, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      unpack_row(table, static_cast<std::uint32_t>(tokens[i]), out + i * table.cols);
    }
  });
}

void rms_norm(Lane& lane, const float* x, const float* weight, float eps, std::size_t rows, std::size_t dim,
              float* out) {
  BATON_CHECK(dim > 0);
  const auto kernel = row_kernels(lane.isa()).rms_norm;
  for_pieces(lane, rows, kChunkValues / dim, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      kernel(x + row * dim, weight, eps, dim, out + row * dim);
    }
  });
}

void rms_norm_heads(Lane& lane, float* x, std::size_t row_stride, const float* weight, float eps, std::size_t rows,
                    std::size_t heads, std::size_t head_dim) {
  BATON_CHECK(head_dim > 0 && heads > 0 && row_stride >= heads * head_dim, head_dim, heads, row_stride);
  const auto kernel = row_kernels(lane.isa()).rms_norm;
  for_pieces(lane, rows, kChunkValues / (heads * head_dim), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t head = 0; head < heads; ++head) {
        float* values = x + row * row_stride + head * head_dim;
        kernel(values, weight, eps, head_dim, values);
      }
    }
  });
}

void rope(Lane& lane, float* x, std::size_t row_stride, std::size_t rows, std::size_t heads, std::size_t head_dim,
          const float* cosines, const float* sines) {
  BATON_CHECK(head_dim % 2 == 0 && row_stride >= heads * head_dim, head_dim, heads, row_stride);
  const auto kernel = row_kernels(lane.isa()).rope_head;
  const std::size_t half = head_dim / 2;
  for_pieces(lane, rows, kChunkValues / (heads * head_dim), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t head = 0; head < heads; ++head) {
        kernel(x + row * row_stride + head * head_dim, half, cosines + row * half, sines + row * half);
      }
    }
  });
}

void silu_mul(Lane& lane, const float* gate, const float* up, std::size_t count, float* out) {
  const auto kernel = row_kernels(lane.isa()).silu_mul;
  for_pieces(lane, count, kChunkValues / 4,
             [&](std::size_t begin, std::size_t end) { kernel(gate + begin, up + begin, end - begin, out + begin); });
}

void add(Lane& lane, const float* x, std::size_t count, float* out) {
  const auto kernel = row_kernels(lane.isa()).add;
  for_pieces(lane, count, kChunkValues,
             [&](std::size_t begin, std::size_t end) { kernel(x + begin, end - begin, out + begin); });
}

}  // namespace baton::kernels
