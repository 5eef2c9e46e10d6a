// The number formats that weights come in, with the size of their blocks.
//
// A row is a whole number of blocks; a block is `block_elements` values in `block_bytes` bytes, with its scales inside.
// Sizes and ids are those of the GGUF specification (ggml-org/ggml, docs/gguf.md) and of ggml's block layouts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace baton {

enum class TensorType : std::uint8_t { F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K };

inline constexpr std::array kTensorTypes = {TensorType::F32,  TensorType::F16,  TensorType::BF16, TensorType::Q4_0,
                                            TensorType::Q4_1, TensorType::Q5_0, TensorType::Q5_1, TensorType::Q8_0,
                                            TensorType::Q4_K, TensorType::Q5_K, TensorType::Q6_K};

std::string_view to_string(TensorType type) noexcept;  // "Q4_1"
std::size_t block_elements(TensorType type) noexcept;  // values in one block: 1, 32 or 256
std::size_t block_bytes(TensorType type) noexcept;     // bytes of one block, scales included
std::uint32_t gguf_type_id(TensorType type) noexcept;  // the number that stands for it in a GGUF file
std::optional<TensorType> tensor_type_of_gguf(std::uint32_t id) noexcept;
std::string_view gguf_type_name(std::uint32_t id) noexcept;  // also of types that are not read here; "?" if unknown

// Bytes of a row. `elements` must be a whole number of blocks (BATON_CHECK).
std::size_t row_bytes(TensorType type, std::size_t elements);

}  // namespace baton
