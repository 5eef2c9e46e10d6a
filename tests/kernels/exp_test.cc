#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "kernels/isa/exp_body.h"

namespace baton::kernels {

TEST_CASE("exp_lanes: stays within its stated error from -87 to 88 and is finite beyond") {
  double worst = 0;
  for (float x = -87.0F; x <= 88.0F; x += 0.00173F) {
    float lanes[kLanes];
    store(lanes, exp_lanes(splat(x)));
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(lanes[0]) - exact) / exact);
  }
  MESSAGE("largest relative error " << worst);
  CHECK(worst < 2e-7);
  float lanes[kLanes];
  store(lanes, exp_lanes(splat(-__builtin_inff())));
  CHECK(lanes[0] >= 0);
  CHECK(lanes[0] < 2e-38F);
  store(lanes, exp_lanes(splat(1e30F)));
  CHECK(std::isfinite(lanes[0]));
}

}  // namespace baton::kernels
