// Words for amounts, as they stand in a synthetic load's file and on the command line. All throw
// Error(invalid_argument) with what would have been right, without the place; the caller knows that. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/time.h"

namespace baton::sim {

// "kind:a,b" as kind and arguments; "kind" alone has none.
struct SpecWords {
  std::string kind;
  std::vector<std::string> arguments;
};

SpecWords spec_words(const std::string& text);

double spec_real(const std::string& text, double min, double max);
std::uint64_t spec_count(const std::string& text, std::uint64_t min, std::uint64_t max);

// "90", "90s", "1.5s", "250ms", "10us", "2m", "1h"; a bare number is seconds. At most a year.
Duration spec_time(const std::string& text);

}  // namespace baton::sim
