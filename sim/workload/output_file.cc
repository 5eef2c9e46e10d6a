#include "sim/workload/output_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

constexpr std::size_t kWriteMax = 1 << 30;  // gzwrite counts with an int

gzFile gzip_of(void* packed) {
  return static_cast<gzFile>(packed);
}

// A pipe or a device cannot be made under another name and moved.
bool is_special(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), made_(path_ == "-" || is_special(path_) ? path_ : path_ + ".part") {
  if (path_ == "-") {
    plain_ = stdout;
  } else if (path_.ends_with(".gz")) {
    packed_ = gzopen(made_.c_str(), "wb9");
  } else {
    plain_ = std::fopen(made_.c_str(), "wb");
  }
  if (plain_ == nullptr && packed_ == nullptr) {
    fail();
  }
}

OutputFile::~OutputFile() {
  if (packed_ != nullptr || plain_ != nullptr) {
    finish();
    if (made_ != path_) {
      std::remove(made_.c_str());
    }
  }
}

void OutputFile::write(std::string_view text) {
  if (packed_ == nullptr) {
    if (std::fwrite(text.data(), 1, text.size(), plain_) != text.size()) {
      fail();
    }
    return;
  }
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kWriteMax);
    if (gzwrite(gzip_of(packed_), part.data(), static_cast<unsigned>(part.size())) <= 0) {
      fail();
    }
    text.remove_prefix(part.size());
  }
}

void OutputFile::close() {
  if (!finish() || (made_ != path_ && std::rename(made_.c_str(), path_.c_str()) != 0)) {
    const int error = errno;
    if (made_ != path_) {
      std::remove(made_.c_str());
    }
    errno = error;
    fail();
  }
}

bool OutputFile::finish() {
  std::FILE* plain = std::exchange(plain_, nullptr);
  void* packed = std::exchange(packed_, nullptr);
  if (packed != nullptr) {
    return gzclose(gzip_of(packed)) == Z_OK;
  }
  return (plain == stdout ? std::fflush(plain) : std::fclose(plain)) == 0;
}

void OutputFile::fail() {
  throw Error(Errc::bad_file, fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

}  // namespace baton::sim
