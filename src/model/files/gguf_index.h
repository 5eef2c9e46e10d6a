// What a GgufFile holds, and the step that fills it from one file image. Private to gguf*.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/files/gguf.h"

namespace baton {

// Names and values point into the file image; `mappings` keeps it where it is a mapped file.
struct GgufFile::Index {
  std::string name;
  std::uint32_t version = 0;
  std::uint64_t file_bytes = 0;
  std::vector<std::shared_ptr<const MappedFile>> mappings;
  std::vector<std::pair<std::string_view, GgufValue>> values;
  std::unordered_map<std::string_view, std::size_t> value_places;
  std::vector<GgufTensor> tensors;
  std::unordered_map<std::string_view, std::size_t> tensor_places;

  // Reads one image into an empty index. Throws Error(Errc::bad_file).
  void read(std::span<const std::byte> bytes);

  // Maps a file and reads it; its parts, if it is split, are not opened.
  static std::shared_ptr<Index> map(const std::filesystem::path& path);

  // Takes in the tensors of a further part. Throws when one is there already.
  void append(const Index& part);
};

std::size_t gguf_scalar_bytes(GgufKind kind) noexcept;  // 0 for string and array

}  // namespace baton
