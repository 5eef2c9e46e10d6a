// The values of settings, from text: numbers with bounds, amounts of memory, times, one of several words.
//
// All throw Error(invalid_argument) with a sentence that says what would have been right; the caller adds which setting
// it was. None accepts blanks, signs or trailing text where a number is wanted.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/time.h"

namespace baton {

struct NumberBounds {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
};

std::uint64_t parse_count(const std::string& text, NumberBounds bounds);

struct RealBounds {
  double min = 0;
  double max = 0;
};

double parse_real(const std::string& text, RealBounds bounds);

// "1073741824", "1GiB", "512 MiB" without the blank; KiB, MiB, GiB, TiB are powers of 1024, KB, MB, GB, TB of 1000.
std::uint64_t parse_bytes(const std::string& text);
std::string bytes_text(std::uint64_t bytes);  // "1GiB" where that is exact, else the number

// "90", "90s", "1.5s", "250ms", "2m", "1h". A bare number is seconds. At most a year.
Duration parse_duration(const std::string& text);
std::string duration_text(Duration duration);

bool parse_flag(const std::string& text);  // "true" or "false"

// The word itself, which is one of `words`.
std::string parse_word(const std::string& text, const std::vector<std::string>& words);
std::string joined_words(const std::vector<std::string>& words);  // "a|b|c"

// The candidate that `text` was probably meant to be: at most a third of its letters wrong. Empty: none is near.
std::string nearest(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace baton
