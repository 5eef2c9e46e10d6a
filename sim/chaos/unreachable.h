// Pairs of room state and event that cannot come together, and why not: what coverage leaves aside.
#pragma once

#include <string_view>

namespace baton::chaos {

// The reason, one sentence; null where the pair can happen. Names as in roles/room_event.h; machine: "prefill",
// "decode" or "router".
const char* why_unreachable(std::string_view machine, std::string_view state, std::string_view event);

}  // namespace baton::chaos
