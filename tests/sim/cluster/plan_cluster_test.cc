#include "sim/cluster/plan_cluster.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/sim/cost/error_text.h"

namespace baton::sim {
namespace {

constexpr const char* kSmall = R"(name = "small"
model = "llama-3.1-8b"
[prefill]
ranks = 1
hardware = "h100"
cost = "roofline"
[decode]
ranks = 1
hardware = "h100"
cost = "roofline"
)";

PlannedCluster plan(const std::string& more) {
  return plan_cluster(parse_cluster(kSmall + more, "c.toml"), 1);
}

TEST_CASE("ClusterPlan: drafts are refused, since nobody would take what they win") {
  CHECK(plan("").plan.decode.pages > 0);
  CHECK(contains(error_text([] { plan("[decode.speculation]\ndrafts = 1\nacceptance = [0.8]\n"); }), "do not draft"));
}

}  // namespace
}  // namespace baton::sim
