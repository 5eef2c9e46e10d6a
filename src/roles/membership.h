// Which instances of the ranks live, as one router sees it.
#pragma once

#include <cstdint>

#include "runtime/time.h"

namespace baton {

// How ranks show that they live. With period zero nobody does: the configured ranks are usable for ever.
struct Liveness {
  Duration period{0};        // between two heartbeats of a rank
  std::uint32_t missed = 3;  // a rank that was not heard for so many periods is lost
};

}  // namespace baton
