#include "runtime/ids.h"

#include <fmt/format.h>

namespace baton {

const char* to_string(Role role) noexcept {
  switch (role) {
    case Role::router:
      return "router";
    case Role::prefill:
      return "prefill";
    case Role::decode:
      return "decode";
    case Role::aggregated:
      return "aggregated";
  }
  return "unknown role";
}

std::string to_string(RankId rank) {
  return fmt::format("{}/{}", to_string(rank.role), rank.index);
}

std::string to_string(RoomId room) {
  return fmt::format("{:016x}", room.value);
}

std::string to_string(InstanceId instance) {
  return fmt::format("{:016x}{:016x}", instance.high, instance.low);
}

}  // namespace baton
