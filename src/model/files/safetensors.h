// safetensors files: a JSON header and raw row-major little-endian tensors, one file or a set of shards.
//
// As strict as the format's own reader: header at most 100 MB, offsets in range, no overlap and no holes, bytes equal
// to dtype x shape. Errors are Error(Errc::bad_file) and name the file, the tensor and the numbers. The format promises
// no alignment of the data. Format: huggingface/safetensors, README "Format".
//
// Owner: a SafetensorsFile keeps its mappings; copies are cheap and share them. Threads: immutable, any thread.
#pragma once

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

#include "model/files/tensor_types.h"

namespace baton {

// One tensor. `shape` is as in PyTorch, outermost first. `type` is empty for a dtype that is no weight format here.
struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // as written in the file: "BF16"
  std::optional<TensorType> type;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> data;
};

class SafetensorsFile final {
 public:
  // Maps and reads one file.
  static SafetensorsFile open(const std::filesystem::path& path);

  // Reads "model.safetensors.index.json" and every shard that it names, all in its folder. Each tensor must be in the
  // shard that the index says, and no shard may hold a tensor that the index does not know.
  static SafetensorsFile open_index(const std::filesystem::path& index_path);

  // Reads one file image. `bytes` must outlive the result and its copies; `name` stands in messages.
  static SafetensorsFile parse(std::span<const std::byte> bytes, const std::string& name);

  const std::string& name() const noexcept;
  std::uint64_t file_bytes() const noexcept;                    // of all shards together
  std::span<const SafetensorsTensor> tensors() const noexcept;  // by place in the file, shard after shard
  const SafetensorsTensor* find_tensor(std::string_view name) const noexcept;

 private:
  struct Index;
  explicit SafetensorsFile(std::shared_ptr<const Index> index) : index_(std::move(index)) {}
  std::shared_ptr<const Index> index_;
};

}  // namespace baton
