#include "sim/workload/line_reader.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteInput> input) : input_(std::move(input)), buffer_(kBufferBytes) {}

bool LineReader::next(std::string_view& line) {
  if (again_) {
    again_ = false;
    line = last_;
    return true;
  }
  if (!take(line)) {
    return false;
  }
  ++number_;
  if (number_ == 1 && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  last_ = line;
  return true;
}

bool LineReader::take(std::string_view& line) {
  while (true) {
    const void* found = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
    if (found != nullptr) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      line = std::string_view(buffer_.data() + begin_, at - begin_);
      begin_ = scanned_ = at + 1;
      return true;
    }
    scanned_ = end_;
    if (!fill()) {
      break;
    }
  }
  if (begin_ == end_) {
    return false;
  }
  line = std::string_view(buffer_.data() + begin_, end_ - begin_);
  begin_ = scanned_ = end_;
  return true;
}

// Reads more behind what is there, after making room. False: the end of the input.
bool LineReader::fill() {
  if (at_end_) {
    return false;
  }
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kLineBytesMax) {
      throw Error(Errc::bad_file,
                  fmt::format("{}:{}: a line of more than {} bytes", name(), number_ + 1, kLineBytesMax));
    }
    buffer_.resize(std::min(buffer_.size() * 2, kLineBytesMax));
  }
  const std::size_t count = input_->read(std::span(buffer_).subspan(end_));
  end_ += count;
  at_end_ = count == 0;
  return count > 0;
}

}  // namespace baton::sim
