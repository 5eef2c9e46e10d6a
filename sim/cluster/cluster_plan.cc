#include "sim/cluster/cluster_plan.h"

#include <utility>

#include "sim/workload/page_keys.h"

namespace baton::sim {

NodeConfig node_config(const ClusterPlan& plan) {
  NodeConfig config;
  config.aggregated = plan.aggregated;
  config.prefill_ranks = plan.aggregated ? 0 : plan.ranks(Role::prefill);
  config.decode_ranks = plan.ranks(Role::decode);
  config.decode_pages = plan.decode.pages;
  config.prefill_pages = plan.prefill.pages;
  config.copying = !plan.aggregated;
  config.prefix_cache = plan.prefix_cache;
  config.seed = plan.seed;
  config.prefill = plan.prefill_config;
  config.decode = plan.decode_config;
  config.router = plan.router_config;
  config.router.prefix.named_by_front_end = true;  // a trace has names for its blocks, and no text
  return config;
}

GenerationRequest to_generation(const ClusterPlan& plan, const TraceRequest& request, std::uint64_t number,
                                Prompt prompt) {
  GenerationRequest wanted;
  wanted.prompt = std::move(prompt);
  wanted.sampling.temperature = 0.0F;
  wanted.sampling.seed = sample_seed(plan.seed, static_cast<std::uint32_t>(number));
  wanted.stop.max_tokens = request.output_tokens;
  wanted.stop.ignore_eos = true;
  if (plan.prefix_cache) {
    wanted.prefix = prompt_page_keys(request, plan.layout.page_tokens);
  }
  return wanted;
}

}  // namespace baton::sim
