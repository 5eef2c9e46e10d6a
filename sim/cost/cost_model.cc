#include "sim/cost/cost_model.h"

namespace baton::sim {

const char* to_string(CostLayer layer) noexcept {
  switch (layer) {
    case CostLayer::measured:
      return "measured";
    case CostLayer::fitted:
      return "fitted";
    case CostLayer::roofline:
      return "roofline";
  }
  return "unknown";
}

}  // namespace baton::sim
