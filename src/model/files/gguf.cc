#include "model/files/gguf.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "model/files/file_error.h"
#include "model/files/gguf_index.h"

namespace baton {
namespace {

template <class Number>
Number load(const std::byte* from) noexcept {
  Number value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// What an integer of the file may be: i64 for the negative, u64 for the rest.
struct WideInteger {
  bool negative = false;
  std::uint64_t bits = 0;
};

template <class Number>
WideInteger widen(const std::byte* from) noexcept {
  const auto value = load<Number>(from);
  return {value < Number{0}, static_cast<std::uint64_t>(value)};
}

std::optional<WideInteger> load_integer(GgufKind kind, const std::byte* from) noexcept {
  switch (kind) {
    case GgufKind::u8:
      return WideInteger{false, load<std::uint8_t>(from)};
    case GgufKind::u16:
      return WideInteger{false, load<std::uint16_t>(from)};
    case GgufKind::u32:
      return WideInteger{false, load<std::uint32_t>(from)};
    case GgufKind::u64:
      return WideInteger{false, load<std::uint64_t>(from)};
    case GgufKind::i8:
      return widen<std::int8_t>(from);
    case GgufKind::i16:
      return widen<std::int16_t>(from);
    case GgufKind::i32:
      return widen<std::int32_t>(from);
    case GgufKind::i64:
      return widen<std::int64_t>(from);
    default:
      return std::nullopt;
  }
}

std::optional<double> load_real(GgufKind kind, const std::byte* from) noexcept {
  if (kind == GgufKind::f32) {
    return load<float>(from);
  }
  if (kind == GgufKind::f64) {
    return load<double>(from);
  }
  if (const auto integer = load_integer(kind, from)) {
    return integer->negative ? static_cast<double>(static_cast<std::int64_t>(integer->bits))
                             : static_cast<double>(integer->bits);
  }
  return std::nullopt;
}

std::optional<std::int64_t> as_i64(const WideInteger& integer) noexcept {
  if (!integer.negative && integer.bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(integer.bits);
}

[[noreturn]] void fail_kind(const GgufFile& file, std::string_view key, const GgufValue& value,
                            std::string_view wanted) {
  std::string kind(to_string(value.kind));
  if (value.kind == GgufKind::array) {
    kind += fmt::format(" of {} {}", value.count, to_string(value.element_kind));
  }
  fail_file(file.name(), fmt::format("key {} is of type {}, {} was expected", in_quotes(key), kind, wanted));
}

[[noreturn]] void fail_absent(const GgufFile& file, std::string_view key) {
  fail_file(file.name(), fmt::format("key {} is missing", in_quotes(key)));
}

const GgufValue& array_value(const GgufFile& file, std::string_view key, const GgufValue& value,
                             std::string_view wanted) {
  if (value.kind != GgufKind::array) {
    fail_kind(file, key, value, wanted);
  }
  return value;
}

}  // namespace

std::string_view to_string(GgufKind kind) noexcept {
  constexpr std::array<std::string_view, 13> kNames = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                       "bool", "string", "array", "u64", "i64", "f64"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "?";
}

GgufFile GgufFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  auto index = std::make_shared<Index>();
  index->name = name;
  index->read(bytes);
  return GgufFile(std::move(index));
}

const std::string& GgufFile::name() const noexcept {
  return index_->name;
}
std::uint32_t GgufFile::version() const noexcept {
  return index_->version;
}
std::uint64_t GgufFile::file_bytes() const noexcept {
  return index_->file_bytes;
}
bool GgufFile::has(std::string_view key) const noexcept {
  return find(key) != nullptr;
}

const GgufValue* GgufFile::find(std::string_view key) const noexcept {
  const auto place = index_->value_places.find(key);
  return place == index_->value_places.end() ? nullptr : &index_->values[place->second].second;
}

std::vector<std::string_view> GgufFile::keys() const {
  std::vector<std::string_view> result;
  result.reserve(index_->values.size());
  for (const auto& [key, value] : index_->values) {
    result.push_back(key);
  }
  return result;
}

std::optional<std::uint64_t> GgufFile::find_u64(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto integer = load_integer(value->kind, value->bytes.data());
  if (!integer) {
    fail_kind(*this, key, *value, "an integer");
  }
  if (integer->negative) {
    fail_file(name(), fmt::format("key {} is {}, which must not be negative", in_quotes(key),
                                  static_cast<std::int64_t>(integer->bits)));
  }
  return integer->bits;
}

std::optional<std::int64_t> GgufFile::find_i64(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto integer = load_integer(value->kind, value->bytes.data());
  if (!integer) {
    fail_kind(*this, key, *value, "an integer");
  }
  const auto result = as_i64(*integer);
  if (!result) {
    fail_file(name(), fmt::format("key {} is {}, which is out of range", in_quotes(key), integer->bits));
  }
  return result;
}

std::optional<double> GgufFile::find_f64(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto real = load_real(value->kind, value->bytes.data());
  if (!real) {
    fail_kind(*this, key, *value, "a number");
  }
  if (!std::isfinite(*real)) {
    fail_file(name(), fmt::format("key {} is {}, which is no finite number", in_quotes(key), *real));
  }
  return real;
}

std::optional<bool> GgufFile::find_bool(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  std::optional<WideInteger> integer = load_integer(value->kind, value->bytes.data());
  if (value->kind == GgufKind::boolean) {
    integer = WideInteger{false, load<std::uint8_t>(value->bytes.data())};
  }
  if (!integer) {
    fail_kind(*this, key, *value, "a bool");
  }
  if (integer->negative || integer->bits > 1) {
    fail_file(name(), fmt::format("key {} is a bool, but neither 0 nor 1", in_quotes(key)));
  }
  return integer->bits == 1;
}

std::optional<std::string_view> GgufFile::find_string(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->kind != GgufKind::string) {
    fail_kind(*this, key, *value, "a string");
  }
  return std::string_view(reinterpret_cast<const char*>(value->bytes.data()), value->bytes.size());
}

std::optional<std::vector<std::string_view>> GgufFile::find_strings(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (array_value(*this, key, *value, "an array of strings").element_kind != GgufKind::string) {
    fail_kind(*this, key, *value, "an array of strings");
  }
  std::vector<std::string_view> result;
  result.reserve(value->count);
  const std::byte* from = value->bytes.data();
  for (std::uint64_t i = 0; i < value->count; ++i) {  // lengths were checked when the file was read
    const auto length = load<std::uint64_t>(from);
    result.emplace_back(reinterpret_cast<const char*>(from + sizeof length), length);
    from += sizeof length + length;
  }
  return result;
}

std::optional<std::vector<std::int64_t>> GgufFile::find_i64s(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const GgufValue& array = array_value(*this, key, *value, "an array of integers");
  const std::size_t step = gguf_scalar_bytes(array.element_kind);
  std::vector<std::int64_t> result;
  if (step != 0) {
    result.reserve(array.count);
  }
  for (std::uint64_t i = 0; i < array.count; ++i) {
    const auto integer = load_integer(array.element_kind, array.bytes.data() + i * step);
    const auto number = integer ? as_i64(*integer) : std::nullopt;
    if (!number) {
      fail_kind(*this, key, array, "an array of integers");
    }
    result.push_back(*number);
  }
  return result;
}

std::optional<std::vector<float>> GgufFile::find_f32s(std::string_view key) const {
  const GgufValue* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const GgufValue& array = array_value(*this, key, *value, "an array of f32");
  if (array.element_kind != GgufKind::f32 && array.element_kind != GgufKind::f64) {
    fail_kind(*this, key, array, "an array of f32");
  }
  const std::size_t step = gguf_scalar_bytes(array.element_kind);
  std::vector<float> result;
  result.reserve(array.count);
  for (std::uint64_t i = 0; i < array.count; ++i) {
    result.push_back(static_cast<float>(*load_real(array.element_kind, array.bytes.data() + i * step)));
  }
  return result;
}

std::uint64_t GgufFile::get_u64(std::string_view key) const {
  const auto value = find_u64(key);
  if (!value) {
    fail_absent(*this, key);
  }
  return *value;
}

double GgufFile::get_f64(std::string_view key) const {
  const auto value = find_f64(key);
  if (!value) {
    fail_absent(*this, key);
  }
  return *value;
}

std::string_view GgufFile::get_string(std::string_view key) const {
  const auto value = find_string(key);
  if (!value) {
    fail_absent(*this, key);
  }
  return *value;
}

std::vector<std::string_view> GgufFile::get_strings(std::string_view key) const {
  auto value = find_strings(key);
  if (!value) {
    fail_absent(*this, key);
  }
  return *std::move(value);
}

std::span<const GgufTensor> GgufFile::tensors() const noexcept {
  return index_->tensors;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const noexcept {
  const auto place = index_->tensor_places.find(name);
  return place == index_->tensor_places.end() ? nullptr : &index_->tensors[place->second];
}

}  // namespace baton
