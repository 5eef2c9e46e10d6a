// Text line by line, numbered: the beginning of every trace reader. LF or CRLF, with or without one at the end; a byte
// order mark at the beginning is skipped. Memory: the longest line.
//
// Owner: one reader. Single thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/byte_input.h"

namespace baton::sim {

inline constexpr std::size_t kLineBytesMax = 64 << 20;

class LineReader final {
 public:
  explicit LineReader(std::unique_ptr<ByteInput> input);

  // The next line without its end; valid until the next call. False: the end. Throws Error(bad_file) for a line of more
  // than kLineBytesMax bytes, and what the input throws.
  bool next(std::string_view& line);

  // The same line again at the next call; for who looks at the first one to know what follows.
  void unread() noexcept { again_ = true; }

  std::uint64_t number() const noexcept { return number_; }  // of the line given last, from 1
  const std::string& name() const noexcept { return input_->name(); }

 private:
  bool fill();
  bool take(std::string_view& line);

  std::unique_ptr<ByteInput> input_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;    // of what was not given yet
  std::size_t scanned_ = 0;  // up to here there is no end of a line
  std::size_t end_ = 0;
  std::uint64_t number_ = 0;
  std::string_view last_;
  bool at_end_ = false;
  bool again_ = false;
};

}  // namespace baton::sim
