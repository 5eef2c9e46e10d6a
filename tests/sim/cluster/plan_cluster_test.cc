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

TEST_CASE("ClusterPlan: decode drafts as the file says, prefill never") {
  CHECK(plan("").plan.decode.speculation == Speculation());
  const PlannedCluster drafting = plan("[decode.speculation]\ndrafts = 2\nacceptance = [0.8, 0.5]\n");
  CHECK(drafting.plan.decode.speculation == Speculation{2, {0.8, 0.5}, 1});
  CHECK(drafting.plan.prefill.speculation == Speculation());
  CHECK(contains(error_text([] { plan("[prefill.speculation]\ndrafts = 1\nacceptance = [0.8]\n"); }), "of decode"));
}

}  // namespace
}  // namespace baton::sim
