// Any text as a cluster file: a cluster that costs and reads back as itself, or refused with an Error.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/errors.h"
#include "sim/cluster/cluster_cost.h"

namespace {

using namespace baton;
using namespace baton::sim;

constexpr std::uint32_t kGroupMax = 1000;  // larger ones would only be slow

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void ask_cost(const PoolSpec& pool) {
  if (pool.cost.kind == CostKind::kernels || pool.cost.kind == CostKind::operators ||
      pool.setup.parallel.dp > kGroupMax) {
    return;  // no files of this machine
  }
  const auto model = make_cost_model(pool);
  StepLoad load;
  load.add_prefill(1000, 500, true);
  if (pool.role != PoolRole::prefill) {
    load.add_decode(700, 1 + pool.setup.speculation.drafts);
  }
  const StepCost cost = model->group_cost(std::vector<StepLoad>(pool.setup.parallel.dp, load));
  require(cost.total >= Duration{0} && cost.stage <= cost.total && cost.communication <= cost.total);
  require(cost.by_layer[0] + cost.by_layer[1] + cost.by_layer[2] == cost.total);
  require(kv_capacity(pool).tokens > 0);
}

void check(const ClusterSpec& spec) {
  const std::string effective = spec.effective();
  require(parse_cluster(effective, "input").effective() == effective);
  ask_cost(spec.decode);
  if (spec.prefill) {
    ask_cost(*spec.prefill);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find('/') != std::string_view::npos || text.find(".toml") != std::string_view::npos) {
    return 0;  // nor files that a name could be
  }
  try {
    check(parse_cluster(text, "input"));
  } catch (const Error&) {  // a refusal; anything else is a finding
  }
  return 0;
}
