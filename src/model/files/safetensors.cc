#include "model/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "model/files/file_error.h"
#include "model/files/json_document.h"
#include "model/files/mapped_file.h"
#include "runtime/text_file.h"

namespace baton {

struct SafetensorsFile::Index {
  std::string name;
  std::uint64_t file_bytes = 0;
  std::vector<std::shared_ptr<const MappedFile>> mappings;
  std::vector<SafetensorsTensor> tensors;
  std::unordered_map<std::string_view, std::size_t> places;  // keys point into `tensors`, filled when that is complete

  void read(std::span<const std::byte> bytes);
  void fill_places();
};

namespace {

constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // the limit of the format's own reader
constexpr std::size_t kRankMax = 16;
constexpr std::size_t kIndexBytesMax = 64 << 20;
constexpr std::size_t kShardsMax = 1000;

struct Dtype {
  std::string_view name;
  std::uint64_t bytes;
  std::optional<TensorType> type;
};

constexpr Dtype kDtypes[] = {
    {"F32", 4, TensorType::F32},  {"F16", 2, TensorType::F16},  {"BF16", 2, TensorType::BF16},
    {"F64", 8, std::nullopt},     {"I64", 8, std::nullopt},     {"U64", 8, std::nullopt},
    {"I32", 4, std::nullopt},     {"U32", 4, std::nullopt},     {"I16", 2, std::nullopt},
    {"U16", 2, std::nullopt},     {"I8", 1, std::nullopt},      {"U8", 1, std::nullopt},
    {"BOOL", 1, std::nullopt},    {"F8_E4M3", 1, std::nullopt}, {"F8_E5M2", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt}, {"C64", 8, std::nullopt},
};

const Dtype* find_dtype(std::string_view name) {
  const auto* const found = std::ranges::find(kDtypes, name, &Dtype::name);
  return found == std::end(kDtypes) ? nullptr : found;
}

// The header's text, after its length has been held against the file and the limit.
std::string_view header_text(std::span<const std::byte> bytes, const std::string& origin) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) {
    fail_file(origin, fmt::format("has {} bytes, too few for a safetensors file", bytes.size()));
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kHeaderBytesMax) {
    fail_file(origin, fmt::format("is not a safetensors file: its header claims {} bytes, at most {} are possible",
                                  length, kHeaderBytesMax));
  }
  if (length > bytes.size() - sizeof length) {
    fail_file(origin,
              fmt::format("claims a header of {} bytes, but only {} are left", length, bytes.size() - sizeof length));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof length, length);
  if (!text.starts_with('{')) {
    fail_file(origin, "is not a safetensors file: its header does not start with '{'");
  }
  return text;
}

std::vector<std::uint64_t> read_numbers(const JsonObject& entry, std::string_view key, const std::string& what) {
  const boost::json::value* const value = entry.find(key);
  if (value == nullptr || !value->is_array() || value->get_array().size() > kRankMax) {
    fail_file(entry.origin(),
              fmt::format("{} has no {}, an array of at most {} numbers", what, in_quotes(key), kRankMax));
  }
  std::vector<std::uint64_t> result;
  for (const boost::json::value& element : value->get_array()) {
    const auto number = json_u64(element);
    if (!number) {
      fail_file(entry.origin(), fmt::format("{} has a {} with an element that is no size", what, in_quotes(key)));
    }
    result.push_back(*number);
  }
  return result;
}

void check_size(const SafetensorsTensor& tensor, std::uint64_t element_bytes, std::uint64_t bytes,
                const std::string& what, const std::string& origin) {
  std::uint64_t wanted = element_bytes;
  bool overflow = false;
  for (const std::uint64_t size : tensor.shape) {
    overflow = __builtin_mul_overflow(wanted, size, &wanted) || overflow;
  }
  if (overflow) {
    fail_file(origin, fmt::format("{} has a shape whose product overflows", what));
  }
  if (wanted != bytes) {
    fail_file(origin,
              fmt::format("{} has {} bytes, its dtype {} and shape need {}", what, bytes, tensor.dtype, wanted));
  }
}

SafetensorsTensor read_entry(std::string_view name, const boost::json::value& value, std::span<const std::byte> data,
                             const std::string& origin) {
  const std::string what = fmt::format("tensor {}", in_quotes(name));
  if (!value.is_object()) {
    fail_file(origin, fmt::format("{} is described by no object", what));
  }
  const JsonObject entry(value.get_object(), origin);
  SafetensorsTensor tensor;
  tensor.name = name;
  tensor.dtype = entry.find_string("dtype").value_or("");
  const Dtype* const dtype = find_dtype(tensor.dtype);
  if (dtype == nullptr) {
    fail_file(origin, fmt::format("{} has the unknown dtype {}", what, in_quotes(tensor.dtype)));
  }
  tensor.type = dtype->type;
  tensor.shape = read_numbers(entry, "shape", what);
  const auto offsets = read_numbers(entry, "data_offsets", what);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size()) {
    fail_file(origin, fmt::format("{} has data_offsets [{}] outside of the {} bytes of data", what,
                                  fmt::join(offsets, ", "), data.size()));
  }
  check_size(tensor, dtype->bytes, offsets[1] - offsets[0], what, origin);
  tensor.data = data.subspan(offsets[0], offsets[1] - offsets[0]);
  return tensor;
}

// The format has neither holes nor overlap: in order of place, each tensor starts where the one before ended.
void check_cover(const std::vector<SafetensorsTensor>& tensors, std::span<const std::byte> data,
                 const std::string& origin) {
  const std::byte* expected = data.data();
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.data.data() != expected) {
      fail_file(origin, fmt::format("tensor {} starts at offset {}, the data before it ends at {}",
                                    in_quotes(tensor.name), tensor.data.data() - data.data(), expected - data.data()));
    }
    expected = tensor.data.data() + tensor.data.size();
  }
  if (expected != data.data() + data.size()) {
    fail_file(origin, fmt::format("has {} bytes of data, its tensors end at {}", data.size(), expected - data.data()));
  }
}

// Which shard each tensor is in, from the index file.
std::unordered_map<std::string, std::string> read_weight_map(const std::filesystem::path& path) {
  const std::string origin = path.string();
  const auto document = parse_json(read_text_file(path, kIndexBytesMax), origin);
  const auto weight_map = JsonObject::root(document, origin).find_object("weight_map");
  if (!weight_map) {
    fail_file(origin, "key 'weight_map' is missing");
  }
  std::unordered_map<std::string, std::string> result;
  for (const auto& member : weight_map->raw()) {
    const std::string tensor(member.key().data(), member.key().size());
    if (!member.value().is_string()) {
      fail_file(origin, fmt::format("weight_map names no file for tensor {}", in_quotes(tensor)));
    }
    const std::string shard(member.value().get_string().data(), member.value().get_string().size());
    if (shard.empty() || shard.find('/') != std::string::npos || shard == "." || shard == "..") {
      fail_file(origin, fmt::format("weight_map names the file {} outside of its folder", in_quotes(shard)));
    }
    result.emplace(tensor, shard);
  }
  return result;
}

}  // namespace

void SafetensorsFile::Index::read(std::span<const std::byte> bytes) {
  const std::string_view text = header_text(bytes, name);
  const auto data = bytes.subspan(sizeof(std::uint64_t) + text.size());
  const boost::json::value document = parse_json(text, name);
  for (const auto& member : JsonObject::root(document, name).raw()) {
    const std::string_view key(member.key().data(), member.key().size());
    if (key != "__metadata__") {
      tensors.push_back(read_entry(key, member.value(), data, name));
    }
  }
  std::ranges::sort(tensors, {}, [](const SafetensorsTensor& tensor) {
    return std::tuple(tensor.data.data(), tensor.data.size(), std::string_view(tensor.name));
  });
  check_cover(tensors, data, name);
  file_bytes = bytes.size();
}

void SafetensorsFile::Index::fill_places() {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    places.emplace(tensors[i].name, i);
  }
}

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  auto index = std::make_shared<Index>();
  index->name = name;
  index->read(bytes);
  index->fill_places();
  return SafetensorsFile(std::move(index));
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  auto index = std::make_shared<Index>();
  index->name = path.string();
  index->mappings.push_back(MappedFile::open(path));
  index->read(index->mappings.front()->bytes());
  index->fill_places();
  return SafetensorsFile(std::move(index));
}

SafetensorsFile SafetensorsFile::open_index(const std::filesystem::path& index_path) {
  const auto weight_map = read_weight_map(index_path);
  std::vector<std::string> shards;
  for (const auto& [tensor, shard] : weight_map) {
    shards.push_back(shard);
  }
  std::ranges::sort(shards);
  const auto repeated = std::ranges::unique(shards);
  shards.erase(repeated.begin(), repeated.end());
  if (shards.size() > kShardsMax) {
    fail_file(index_path.string(), fmt::format("names {} files, at most {} are supported", shards.size(), kShardsMax));
  }
  auto index = std::make_shared<Index>();
  index->name = index_path.string();
  for (const std::string& shard : shards) {
    Index part;
    part.name = (index_path.parent_path() / shard).string();
    part.mappings.push_back(MappedFile::open(part.name));
    part.read(part.mappings.front()->bytes());
    for (SafetensorsTensor& tensor : part.tensors) {
      const auto stated = weight_map.find(tensor.name);
      if (stated == weight_map.end() || stated->second != shard) {
        fail_file(part.name,
                  fmt::format("holds tensor {}, which the index does not place there", in_quotes(tensor.name)));
      }
      index->tensors.push_back(std::move(tensor));
    }
    index->file_bytes += part.file_bytes;
    index->mappings.push_back(part.mappings.front());
  }
  if (index->tensors.size() != weight_map.size()) {
    fail_file(index_path.string(), fmt::format("names {} tensors, its {} files hold {} of them", weight_map.size(),
                                               shards.size(), index->tensors.size()));
  }
  index->fill_places();
  return SafetensorsFile(std::move(index));
}

const std::string& SafetensorsFile::name() const noexcept {
  return index_->name;
}
std::uint64_t SafetensorsFile::file_bytes() const noexcept {
  return index_->file_bytes;
}
std::span<const SafetensorsTensor> SafetensorsFile::tensors() const noexcept {
  return index_->tensors;
}

const SafetensorsTensor* SafetensorsFile::find_tensor(std::string_view name) const noexcept {
  const auto place = index_->places.find(name);
  return place == index_->places.end() ? nullptr : &index_->tensors[place->second];
}

}  // namespace baton
