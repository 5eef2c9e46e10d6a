// A file mapped read-only into the address space: the one copy of the weights that all ranks of a process share.
//
// Owner: whoever holds the shared_ptr; everything that points into bytes() keeps one. Threads: immutable after open(),
// any thread may read. The file must not be truncated while it is mapped (the kernel answers reads past its new end
// with SIGBUS); replacing it by rename is safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace baton {

class MappedFile final {
 public:
  // Maps a regular file. Throws Error: not_found when nothing is there, bad_file when it is empty, a directory or
  // anything else that cannot be mapped; the message names the path and the reason of the system.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes);

  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace baton
