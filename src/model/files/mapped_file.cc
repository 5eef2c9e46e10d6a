#include "model/files/mapped_file.h"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/files/file_error.h"
#include "runtime/errors.h"

namespace baton {
namespace {

// Closes the descriptor on every way out; the mapping does not need it.
class Descriptor final {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a FIFO under this name must be refused, not waited for
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int error = errno;
    const Errc code = error == ENOENT || error == ENOTDIR ? Errc::not_found : Errc::bad_file;
    throw Error(code, fmt::format("{}: cannot open: {}", path.string(), reason(error)));
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) {
    fail_file(path.string(), fmt::format("cannot read its size: {}", reason(errno)));
  }
  if (S_ISDIR(status.st_mode)) {
    fail_file(path.string(), "is a directory, a file was expected");
  }
  if (!S_ISREG(status.st_mode)) {
    fail_file(path.string(), "is not a regular file");
  }
  if (status.st_size == 0) {
    fail_file(path.string(), "is empty");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) {
    fail_file(path.string(), fmt::format("cannot map its {} bytes: {}", size, reason(errno)));
  }
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(start), size);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes));
}

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
    : path_(std::move(path)), bytes_(bytes) {}

MappedFile::~MappedFile() {
  // munmap takes a plain pointer although nothing is written through it
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace baton
