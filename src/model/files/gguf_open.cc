// Opening GGUF files from disk, and joining the parts of a split model.

#include <fmt/format.h>

#include "model/files/file_error.h"
#include "model/files/gguf_index.h"

namespace baton {
namespace {

constexpr std::uint64_t kPartsMax = 1000;  // the largest published models have below 200

// "x-00001-of-00003.gguf" -> path of part `number` (from 1). Throws when the name does not have that form.
std::filesystem::path part_path(const std::filesystem::path& first, std::uint64_t number, std::uint64_t count) {
  const std::string tail = fmt::format("-00001-of-{:05}.gguf", count);
  const std::string name = first.filename().string();
  if (!name.ends_with(tail)) {
    fail_file(first.string(), fmt::format("is the first of {} parts, so its name must end in '{}'", count, tail));
  }
  const std::string stem = name.substr(0, name.size() - tail.size());
  return first.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", stem, number, count);
}

}  // namespace

GgufFile GgufFile::open(const std::filesystem::path& path) {
  const std::shared_ptr<Index> index = Index::map(path);
  const GgufFile first(index);
  const std::uint64_t count = first.find_u64("split.count").value_or(1);
  if (count <= 1) {
    return first;
  }
  const std::uint64_t number = first.find_u64("split.no").value_or(0);
  if (number != 0) {
    fail_file(path.string(), fmt::format("is part {} of {}: open the first part instead", number + 1, count));
  }
  if (count > kPartsMax) {
    fail_file(path.string(), fmt::format("claims {} parts, at most {} are supported", count, kPartsMax));
  }
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::shared_ptr<Index> next = Index::map(part_path(path, i + 1, count));
    const GgufFile part(next);
    if (part.find_u64("split.no") != i || part.find_u64("split.count") != count) {
      fail_file(next->name, fmt::format("does not say that it is part {} of {} (split.no, split.count)", i + 1, count));
    }
    index->append(*next);
  }
  const auto total = first.find_u64("split.tensors.count");
  if (total && *total != index->tensors.size()) {
    fail_file(path.string(), fmt::format("split.tensors.count is {}, but the {} parts hold {} tensors", *total, count,
                                         index->tensors.size()));
  }
  return first;
}

std::shared_ptr<GgufFile::Index> GgufFile::Index::map(const std::filesystem::path& path) {
  auto index = std::make_shared<Index>();
  index->name = path.string();
  index->mappings.push_back(MappedFile::open(path));
  index->read(index->mappings.front()->bytes());
  return index;
}

void GgufFile::Index::append(const Index& part) {
  for (const GgufTensor& tensor : part.tensors) {
    tensors.push_back(tensor);
    if (!tensor_places.emplace(tensor.name, tensors.size() - 1).second) {
      fail_file(part.name, fmt::format("tensor {} is in an earlier part too", in_quotes(tensor.name)));
    }
  }
  file_bytes += part.file_bytes;
  mappings.insert(mappings.end(), part.mappings.begin(), part.mappings.end());
}

}  // namespace baton
