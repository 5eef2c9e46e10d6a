#include "model/files/tensor_types.h"

#include "runtime/check.h"

namespace baton {
namespace {

struct Format {
  std::string_view name;
  std::uint32_t gguf_id;
  std::uint16_t elements;
  std::uint16_t bytes;
};

// In the order of the enumeration. Block layouts: see dequantize.cc.
constexpr std::array<Format, kTensorTypes.size()> kFormats = {{
    {"F32", 0, 1, 4},
    {"F16", 1, 1, 2},
    {"BF16", 30, 1, 2},
    {"Q4_0", 2, 32, 18},
    {"Q4_1", 3, 32, 20},
    {"Q5_0", 6, 32, 22},
    {"Q5_1", 7, 32, 24},
    {"Q8_0", 8, 32, 34},
    {"Q4_K", 12, 256, 144},
    {"Q5_K", 13, 256, 176},
    {"Q6_K", 14, 256, 210},
}};

// Formats that exist in GGUF files and are not read here: known by name for the message that refuses them.
struct Foreign {
  std::uint32_t gguf_id;
  std::string_view name;
};
constexpr Foreign kForeign[] = {
    {9, "Q8_1"},   {10, "Q2_K"},   {11, "Q3_K"},  {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},
    {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"}, {23, "IQ4_XS"},  {24, "I8"},     {25, "I16"},
    {26, "I32"},   {27, "I64"},    {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {39, "MXFP4"},
};

const Format& format(TensorType type) noexcept {
  return kFormats[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view to_string(TensorType type) noexcept {
  return format(type).name;
}
std::size_t block_elements(TensorType type) noexcept {
  return format(type).elements;
}
std::size_t block_bytes(TensorType type) noexcept {
  return format(type).bytes;
}
std::uint32_t gguf_type_id(TensorType type) noexcept {
  return format(type).gguf_id;
}

std::optional<TensorType> tensor_type_of_gguf(std::uint32_t id) noexcept {
  for (const TensorType type : kTensorTypes) {
    if (format(type).gguf_id == id) {
      return type;
    }
  }
  return std::nullopt;
}

std::string_view gguf_type_name(std::uint32_t id) noexcept {
  if (const auto type = tensor_type_of_gguf(id)) {
    return to_string(*type);
  }
  for (const Foreign& foreign : kForeign) {
    if (foreign.gguf_id == id) {
      return foreign.name;
    }
  }
  return "?";
}

std::size_t row_bytes(TensorType type, std::size_t elements) {
  BATON_CHECK(elements % block_elements(type) == 0, to_string(type), elements);
  return elements / block_elements(type) * block_bytes(type);
}

}  // namespace baton
