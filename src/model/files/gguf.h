// GGUF files, versions 2 and 3, little-endian: typed metadata and tensors, without copying weights.
//
// The file is taken as hostile: every count is held against the bytes that are left, every product is checked, and
// nothing is allocated in proportion to a number that the file merely claims. Errors are Error(Errc::bad_file) and name
// the file, the key or tensor and the numbers. Format: ggml-org/ggml, docs/gguf.md.
//
// Owner: a GgufFile keeps its mapping; copies are cheap and share it. Threads: immutable, any thread may read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/files/mapped_file.h"
#include "model/files/tensor_types.h"

namespace baton {

// The kinds of metadata values, with their numbers in the file.
enum class GgufKind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

std::string_view to_string(GgufKind kind) noexcept;

// A metadata value where it lies in the file. For an array: the kind of its elements, their number, and their bytes.
struct GgufValue {
  GgufKind kind{};
  std::span<const std::byte> bytes;  // the value itself; of a string without its length; of an array the elements
  GgufKind element_kind{};           // of an array only
  std::uint64_t count = 0;           // of an array only
};

// One tensor. dims[0] is the contiguous one: a matrix [out, in] has dims {in, out}; dims past `dimensions` are 1.
struct GgufTensor {
  std::string_view name;
  TensorType type{};
  std::uint32_t dimensions = 0;
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};
  std::span<const std::byte> data;
};

class GgufFile final {
 public:
  // Maps and reads a file. The first part of a split model ("x-00001-of-00003.gguf") brings in its other parts, which
  // must lie next to it; any other part is refused.
  static GgufFile open(const std::filesystem::path& path);

  // Reads one file image. `bytes` must outlive the result and its copies; `name` stands in messages.
  static GgufFile parse(std::span<const std::byte> bytes, const std::string& name);

  const std::string& name() const noexcept;  // the path, for messages
  std::uint32_t version() const noexcept;
  std::uint64_t file_bytes() const noexcept;  // of all parts together

  bool has(std::string_view key) const noexcept;
  const GgufValue* find(std::string_view key) const noexcept;  // nullptr: no such key
  std::vector<std::string_view> keys() const;                  // in file order

  // Typed reading. `find_*` gives nothing when the key is absent, `get_*` throws then; both throw when the value is of
  // another kind or out of range. Integers are read in any width and sign.
  std::optional<std::uint64_t> find_u64(std::string_view key) const;
  std::optional<std::int64_t> find_i64(std::string_view key) const;
  std::optional<double> find_f64(std::string_view key) const;  // f32, f64 or any integer
  std::optional<bool> find_bool(std::string_view key) const;   // bool, or an integer 0 or 1
  std::optional<std::string_view> find_string(std::string_view key) const;
  std::optional<std::vector<std::string_view>> find_strings(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> find_i64s(std::string_view key) const;  // an array of integers of any width
  std::optional<std::vector<float>> find_f32s(std::string_view key) const;         // an array of f32 or f64
  std::uint64_t get_u64(std::string_view key) const;
  double get_f64(std::string_view key) const;
  std::string_view get_string(std::string_view key) const;
  std::vector<std::string_view> get_strings(std::string_view key) const;

  std::span<const GgufTensor> tensors() const noexcept;  // in file order, the parts one after another
  const GgufTensor* find_tensor(std::string_view name) const noexcept;

 private:
  struct Index;
  explicit GgufFile(std::shared_ptr<const Index> index) : index_(std::move(index)) {}
  std::shared_ptr<const Index> index_;
};

}  // namespace baton
