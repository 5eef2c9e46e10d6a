#include "sim/chaos/scenario.h"

namespace baton::chaos {

bool has_rank(const Scenario& scenario, RankId rank) {
  switch (rank.role) {
    case Role::router:
      return rank.index < scenario.routers;
    case Role::prefill:
      return !scenario.aggregated && rank.index < scenario.prefill;
    case Role::decode:
      return !scenario.aggregated && rank.index < scenario.decode;
    case Role::aggregated:
      return scenario.aggregated && rank.index < scenario.decode;
  }
  return false;
}

}  // namespace baton::chaos
