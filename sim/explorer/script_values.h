// The values of a script that TOML has no type for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/ids.h"
#include "runtime/time.h"

namespace baton::chaos {

// "0", "1.5ms", "20us", "3s": exact to the nanosecond, in the largest unit that needs no more than three digits after
// the point.
std::string time_text(Duration time);
std::optional<Duration> parse_time(std::string_view text);  // not negative, exact; none: no such time

std::optional<RankId> parse_rank(std::string_view text);  // "prefill/0"

std::optional<std::uint64_t> parse_wide(std::string_view text);  // "17" or "0x11"

}  // namespace baton::chaos
