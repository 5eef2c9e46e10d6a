#include "sim/workload/byte_input.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr int kGzipWindow = 15 + 16;  // the largest window, and a gzip header is wanted (zlib.h, inflateInit2)

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

class FileInput final : public ByteInput {
 public:
  FileInput(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {
    std::setvbuf(file, nullptr, _IONBF, 0);  // who reads has a buffer
  }

  std::size_t read(std::span<char> into) override {
    const std::size_t count = std::fread(into.data(), 1, into.size(), file_.get());
    if (count == 0 && std::ferror(file_.get()) != 0) {
      throw Error(Errc::bad_file, fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
    }
    return count;
  }
  const std::string& name() const noexcept override { return name_; }

 private:
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::string name_;
};

class TextInput final : public ByteInput {
 public:
  TextInput(std::string_view text, std::string name) : rest_(text), name_(std::move(name)) {}

  std::size_t read(std::span<char> into) override {
    const std::size_t count = rest_.copy(into.data(), into.size());
    rest_.remove_prefix(count);
    return count;
  }
  const std::string& name() const noexcept override { return name_; }

 private:
  std::string_view rest_;
  std::string name_;
};

// Passes bytes on, or inflates them. A gzip file may consist of several members one after another.
class DetectingInput final : public ByteInput {
 public:
  explicit DetectingInput(std::unique_ptr<ByteInput> from) : from_(std::move(from)), buffer_(kChunkBytes) {}
  DetectingInput(const DetectingInput&) = delete;
  DetectingInput& operator=(const DetectingInput&) = delete;
  ~DetectingInput() override {
    if (inflating_) {
      inflateEnd(&stream_);
    }
  }

  std::size_t read(std::span<char> into) override {
    if (!started_) {
      start();
    }
    return inflating_ ? inflate_into(into) : pass_on(into);
  }
  const std::string& name() const noexcept override { return from_->name(); }

 private:
  void start() {
    started_ = true;
    while (end_ < 2 && fill()) {
    }
    inflating_ = end_ >= 2 && buffer_[0] == '\x1f' && buffer_[1] == '\x8b';
    if (inflating_ && inflateInit2(&stream_, kGzipWindow) != Z_OK) {
      inflating_ = false;
      throw std::bad_alloc();
    }
  }

  // Reads on behind what is there. False: nothing more comes.
  bool fill() {
    const std::size_t count = from_->read(std::span(buffer_).subspan(end_));
    end_ += count;
    return count > 0;
  }

  // Makes sure that something is left to take. False: the end.
  bool refill() {
    if (begin_ == end_) {
      begin_ = end_ = 0;
      return fill();
    }
    return true;
  }

  std::size_t pass_on(std::span<char> into) {
    if (begin_ == end_) {
      return from_->read(into);
    }
    const std::size_t count = std::min(into.size(), end_ - begin_);
    std::memcpy(into.data(), buffer_.data() + begin_, count);
    begin_ += count;
    return count;
  }

  std::size_t inflate_into(std::span<char> into) {
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), 1U << 30));
    const std::size_t wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      if (!refill()) {
        if (!between_members_) {
          throw Error(Errc::bad_file, fmt::format("{}: the compressed data ends too early", name()));
        }
        return 0;
      }
      inflate_some();
    }
    return wanted - stream_.avail_out;
  }

  void inflate_some() {
    if (between_members_) {
      inflateReset(&stream_);
      between_members_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data() + begin_);
    stream_.avail_in = static_cast<uInt>(end_ - begin_);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    begin_ = end_ - stream_.avail_in;
    if (result == Z_STREAM_END) {
      between_members_ = true;
    } else if (result != Z_OK) {
      const char* why = stream_.msg != nullptr ? stream_.msg : "torn";
      throw Error(Errc::bad_file, fmt::format("{}: the compressed data is broken: {}", name(), why));
    }
  }

  std::unique_ptr<ByteInput> from_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool started_ = false;
  bool inflating_ = false;
  bool between_members_ = false;
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<ByteInput> open_input(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    throw Error(Errc::not_found, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  auto input = std::make_unique<FileInput>(file, path);
  struct stat status{};
  if (::fstat(::fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw Error(Errc::bad_file, fmt::format("{}: is a folder", path));
  }
  return std::make_unique<DetectingInput>(std::move(input));
}

std::unique_ptr<ByteInput> input_of_text(std::string_view text, std::string name) {
  return std::make_unique<DetectingInput>(std::make_unique<TextInput>(text, std::move(name)));
}

}  // namespace baton::sim
