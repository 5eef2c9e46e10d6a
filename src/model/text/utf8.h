// UTF-8 as the text side needs it: repair of invalid input and of streams cut inside a character.
//
// Every maximal ill-formed part becomes one U+FFFD (Unicode 15, section 3.9, "best practice"), as Python and Rust do.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace baton {

bool is_valid_utf8(std::string_view text);

// The text itself if valid, else with U+FFFD for what is not.
std::string repaired_utf8(std::string_view text);

// The same on a stream: bytes of a character that is not complete yet are kept for the next call. A value.
class Utf8Repair final {
 public:
  // Appends the whole characters among the bytes kept and these.
  void append(std::string_view bytes, std::string& out);
  // The end: a character that never became complete is one U+FFFD.
  void finish(std::string& out);
  std::size_t pending() const noexcept { return pending_count_; }

 private:
  std::array<char, 4> pending_{};
  std::size_t pending_count_ = 0;
};

}  // namespace baton
