// Packing of weight matrices, cut into jobs that run in parallel. Internal to the engine folder (used by weights.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/packed_matrix.h"
#include "model/engine/weights.h"
#include "model/files/model_source.h"

namespace baton {

// Matrices with one input, to be packed on top of each other into one.
struct MatrixStack {
  struct Part {
    std::string name;
    MatrixView view;
  };

  kernels::PackedMatrix* target = nullptr;
  std::vector<Part> parts;  // of equal cols
  kernels::PackedFormat format = kernels::PackedFormat::f32_rows;
  std::size_t offset = 0;  // in the buffer of all weights
  std::byte* data = nullptr;

  std::uint32_t rows() const noexcept;
  std::uint32_t cols() const noexcept { return static_cast<std::uint32_t>(parts.front().view.cols); }
  std::size_t bytes() const;  // packed
  kernels::PackTarget pack_target() const noexcept { return {format, rows(), cols(), data}; }
};

// f32 for exact numerics; else what the kernels prefer for the parts' type, or f16 where they disagree.
void choose_format(MatrixStack& stack, Numerics numerics, kernels::Isa isa);

// Packs all stacks into their `data`, zero-filled before. Returns the hashes of the stored bytes in an order that does
// not depend on threads, formats or numerics. Throws Error(bad_file) for a weight that is not finite.
std::vector<std::uint64_t> pack(std::span<const MatrixStack> stacks, const WeightsOptions& options);

// Throws Error(bad_file), naming the tensor, if a value is not finite.
void check_finite(const std::string& name, std::span<const float> values);

// Lets the system take back the mapped file's pages, which are not needed any more: the packed copy stands for them.
void release_file_pages(std::span<const MatrixStack> stacks);

}  // namespace baton
