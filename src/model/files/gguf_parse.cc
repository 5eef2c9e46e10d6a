#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "model/files/file_error.h"
#include "model/files/gguf_index.h"

namespace baton {
namespace {

constexpr std::size_t kKeyBytesMax = 65535;       // the specification's limit
constexpr std::size_t kTensorNameBytesMax = 256;  // the specification says 64; some files go beyond
constexpr unsigned kArrayDepthMax = 4;
constexpr std::uint64_t kValueBytesMin = 8 + 4 + 1;           // key length, kind, one byte of value
constexpr std::uint64_t kTensorBytesMin = 8 + 4 + 8 + 4 + 8;  // name length, dimensions, one of them, type, offset
constexpr std::uint64_t kAlignmentDefault = 32;
constexpr std::uint64_t kAlignmentMax = std::uint64_t{1} << 30;

// Reads numbers one after another and refuses to read past the end.
class Cursor final {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}

  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t left() const noexcept { return bytes_.size() - position_; }

  [[noreturn]] void fail(const std::string& message) const { fail_file(origin_, message); }

  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    if (count > left()) {
      fail(fmt::format("{} needs {} bytes at offset {}, but only {} are left", what, count, position_, left()));
    }
    const auto result = bytes_.subspan(position_, count);
    position_ += count;
    return result;
  }

  template <class Number>
  Number number(std::string_view what) {
    Number value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  std::string_view string(std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    const auto text = take(length, what);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& origin_;
  std::uint64_t position_ = 0;
};

GgufKind read_kind(Cursor& cursor, const std::string& what) {
  const auto kind = cursor.number<std::uint32_t>(what);
  if (kind > static_cast<std::uint32_t>(GgufKind::f64)) {
    cursor.fail(fmt::format("{} has the unknown value type {}", what, kind));
  }
  return static_cast<GgufKind>(kind);
}

// The least bytes that an element of an array can take: bounds its count before anything is walked.
std::uint64_t least_bytes(GgufKind kind) {
  switch (kind) {
    case GgufKind::string:
      return 8;
    case GgufKind::array:
      return 12;
    default:
      return gguf_scalar_bytes(kind);
  }
}

GgufValue read_array(Cursor& cursor, const std::string& what, unsigned depth);

GgufValue read_value(Cursor& cursor, GgufKind kind, const std::string& what, unsigned depth) {
  if (kind == GgufKind::array) {
    return read_array(cursor, what, depth + 1);
  }
  GgufValue value;
  value.kind = kind;
  if (kind == GgufKind::string) {
    value.bytes = std::as_bytes(std::span(cursor.string(what)));
  } else {
    value.bytes = cursor.take(gguf_scalar_bytes(kind), what);
  }
  return value;
}

GgufValue read_array(Cursor& cursor, const std::string& what, unsigned depth) {
  if (depth > kArrayDepthMax) {
    cursor.fail(fmt::format("{} nests arrays more than {} deep", what, kArrayDepthMax));
  }
  GgufValue value;
  value.kind = GgufKind::array;
  value.element_kind = read_kind(cursor, what);
  value.count = cursor.number<std::uint64_t>(what);
  const std::uint64_t least = least_bytes(value.element_kind);
  if (value.count > cursor.left() / least) {
    cursor.fail(fmt::format("{} claims {} elements of type {}, but only {} bytes are left", what, value.count,
                            to_string(value.element_kind), cursor.left()));
  }
  if (gguf_scalar_bytes(value.element_kind) != 0) {
    value.bytes = cursor.take(value.count * least, what);
    return value;
  }
  const Cursor start = cursor;
  for (std::uint64_t i = 0; i < value.count; ++i) {
    read_value(cursor, value.element_kind, what, depth);
  }
  Cursor again = start;
  value.bytes = again.take(cursor.position() - start.position(), what);
  return value;
}

// A tensor's entry in the table, before its offset has been held against the data.
struct TensorEntry {
  GgufTensor tensor;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

void read_dims(Cursor& cursor, GgufTensor& tensor, const std::string& what) {
  tensor.dimensions = cursor.number<std::uint32_t>(what);
  if (tensor.dimensions == 0 || tensor.dimensions > tensor.dims.size()) {
    cursor.fail(fmt::format("{} has {} dimensions, 1 to {} are possible", what, tensor.dimensions, tensor.dims.size()));
  }
  for (std::uint32_t i = 0; i < tensor.dimensions; ++i) {
    tensor.dims[i] = cursor.number<std::uint64_t>(what);
    if (tensor.dims[i] == 0) {
      cursor.fail(fmt::format("{} has dimension {} of size 0", what, i));
    }
  }
}

// Bytes that the tensor's data must have. Throws when a row is no whole number of blocks or the product overflows.
std::uint64_t data_bytes(const Cursor& cursor, const GgufTensor& tensor, const std::string& what) {
  const std::uint64_t elements = block_elements(tensor.type);
  if (tensor.dims[0] % elements != 0) {
    cursor.fail(fmt::format("{} of type {} has rows of {} values, not a multiple of the block of {}", what,
                            to_string(tensor.type), tensor.dims[0], elements));
  }
  std::uint64_t bytes = tensor.dims[0] / elements;
  bool overflow = __builtin_mul_overflow(bytes, std::uint64_t{block_bytes(tensor.type)}, &bytes);
  for (std::uint32_t i = 1; i < tensor.dimensions; ++i) {
    overflow = overflow || __builtin_mul_overflow(bytes, tensor.dims[i], &bytes);
  }
  if (overflow) {
    cursor.fail(fmt::format("{} has dimensions {} x {} x {} x {}, whose product overflows", what, tensor.dims[0],
                            tensor.dims[1], tensor.dims[2], tensor.dims[3]));
  }
  return bytes;
}

TensorEntry read_tensor(Cursor& cursor, std::uint64_t index) {
  TensorEntry entry;
  entry.tensor.name = cursor.string(fmt::format("the name of tensor {}", index));
  const std::string what = fmt::format("tensor {}", in_quotes(entry.tensor.name));
  if (entry.tensor.name.empty() || entry.tensor.name.size() > kTensorNameBytesMax) {
    cursor.fail(fmt::format("{} (number {}) has a name of {} bytes, 1 to {} are possible", what, index,
                            entry.tensor.name.size(), kTensorNameBytesMax));
  }
  read_dims(cursor, entry.tensor, what);
  const auto type = cursor.number<std::uint32_t>(what);
  const auto known = tensor_type_of_gguf(type);
  if (!known) {
    cursor.fail(fmt::format("{} has type {} ({}), which is not supported", what, type, gguf_type_name(type)));
  }
  entry.tensor.type = *known;
  entry.offset = cursor.number<std::uint64_t>(what);
  entry.bytes = data_bytes(cursor, entry.tensor, what);
  return entry;
}

std::uint64_t alignment_of(const Cursor& cursor, const GgufValue* value) {
  if (value == nullptr) {
    return kAlignmentDefault;
  }
  if (value->kind != GgufKind::u32) {
    cursor.fail(fmt::format("key 'general.alignment' is of type {}, u32 was expected", to_string(value->kind)));
  }
  std::uint32_t alignment = 0;
  std::memcpy(&alignment, value->bytes.data(), sizeof alignment);
  if (!std::has_single_bit(alignment) || alignment > kAlignmentMax) {
    cursor.fail(
        fmt::format("key 'general.alignment' is {}, which is no power of two up to {}", alignment, kAlignmentMax));
  }
  return alignment;
}

// Gives each entry its bytes in `data`, after checking that they are there, aligned, and nobody else's.
void place_tensors(const Cursor& cursor, std::vector<TensorEntry>& entries, std::span<const std::byte> data,
                   std::uint64_t alignment) {
  for (TensorEntry& entry : entries) {
    const std::string what = fmt::format("tensor {}", in_quotes(entry.tensor.name));
    if (entry.offset % alignment != 0) {
      cursor.fail(fmt::format("{} starts at offset {}, not a multiple of {}", what, entry.offset, alignment));
    }
    if (entry.offset > data.size() || entry.bytes > data.size() - entry.offset) {
      cursor.fail(fmt::format("{} has {} bytes at offset {}, past the {} bytes of data in the file", what, entry.bytes,
                              entry.offset, data.size()));
    }
    entry.tensor.data = data.subspan(entry.offset, entry.bytes);
  }
  std::vector<const TensorEntry*> by_offset;
  by_offset.reserve(entries.size());
  for (const TensorEntry& entry : entries) {
    by_offset.push_back(&entry);
  }
  std::ranges::sort(by_offset, {}, &TensorEntry::offset);
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const TensorEntry& before = *by_offset[i - 1];
    if (before.offset + before.bytes > by_offset[i]->offset) {
      cursor.fail(fmt::format("tensors {} and {} overlap at offset {}", in_quotes(before.tensor.name),
                              in_quotes(by_offset[i]->tensor.name), by_offset[i]->offset));
    }
  }
}

std::uint32_t read_preamble(Cursor& cursor) {
  const auto magic = cursor.take(4, "the magic number");
  if (std::memcmp(magic.data(), "GGUF", 4) != 0) {
    cursor.fail("is not a GGUF file: it does not start with 'GGUF'");
  }
  const auto version = cursor.number<std::uint32_t>("the version");
  if ((version & 0xffffu) == 0 && version != 0) {
    cursor.fail(fmt::format("GGUF version {:#x} looks byte-swapped: big-endian files are not supported", version));
  }
  if (version != 2 && version != 3) {
    cursor.fail(fmt::format("GGUF version {} is not supported, 2 and 3 are", version));
  }
  return version;
}

}  // namespace

std::size_t gguf_scalar_bytes(GgufKind kind) noexcept {
  switch (kind) {
    case GgufKind::u8:
    case GgufKind::i8:
    case GgufKind::boolean:
      return 1;
    case GgufKind::u16:
    case GgufKind::i16:
      return 2;
    case GgufKind::u32:
    case GgufKind::i32:
    case GgufKind::f32:
      return 4;
    case GgufKind::u64:
    case GgufKind::i64:
    case GgufKind::f64:
      return 8;
    case GgufKind::string:
    case GgufKind::array:
      return 0;
  }
  return 0;
}

void GgufFile::Index::read(std::span<const std::byte> bytes) {
  Cursor cursor(bytes, name);
  file_bytes = bytes.size();
  version = read_preamble(cursor);
  const auto tensor_count = cursor.number<std::uint64_t>("the tensor count");
  const auto value_count = cursor.number<std::uint64_t>("the metadata count");
  if (value_count > cursor.left() / kValueBytesMin) {
    cursor.fail(fmt::format("claims {} metadata values, but only {} bytes are left", value_count, cursor.left()));
  }
  if (tensor_count > cursor.left() / kTensorBytesMin) {
    cursor.fail(fmt::format("claims {} tensors, but only {} bytes are left", tensor_count, cursor.left()));
  }
  for (std::uint64_t i = 0; i < value_count; ++i) {
    const std::string_view key = cursor.string(fmt::format("metadata key {}", i));
    const std::string what = fmt::format("key {}", in_quotes(key));
    if (key.empty() || key.size() > kKeyBytesMax) {
      cursor.fail(fmt::format("metadata key {} has {} bytes, 1 to {} are possible", i, key.size(), kKeyBytesMax));
    }
    const GgufKind kind = read_kind(cursor, what);
    values.emplace_back(key, read_value(cursor, kind, what, 0));
    if (!value_places.emplace(key, values.size() - 1).second) {
      cursor.fail(fmt::format("{} occurs twice", what));
    }
  }
  std::vector<TensorEntry> entries;
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    entries.push_back(read_tensor(cursor, i));
    if (!tensor_places.emplace(entries.back().tensor.name, i).second) {
      cursor.fail(fmt::format("tensor {} occurs twice", in_quotes(entries.back().tensor.name)));
    }
  }
  const auto place = value_places.find("general.alignment");
  const GgufValue* const stated = place == value_places.end() ? nullptr : &values[place->second].second;
  const std::uint64_t alignment = alignment_of(cursor, stated);
  // a file without tensors may end at the header, without the padding
  const std::uint64_t start =
      std::min<std::uint64_t>((cursor.position() + alignment - 1) / alignment * alignment, bytes.size());
  place_tensors(cursor, entries, bytes.subspan(start), alignment);
  for (const TensorEntry& entry : entries) {
    tensors.push_back(entry.tensor);
  }
}

}  // namespace baton
