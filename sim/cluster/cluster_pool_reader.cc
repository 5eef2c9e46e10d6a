#include "sim/cluster/cluster_pool_reader.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "sim/cluster/cluster_cost.h"
#include "sim/cluster/cluster_spec_keys.h"
#include "sim/cost/expert_skew.h"

namespace baton::sim {
namespace {

constexpr NumberRange kGbytesPerS{0, 1e6};
constexpr NumberRange kMicroseconds{0, 1e9};
constexpr NumberRange kGib{0, 1e4};
constexpr WholeRange kTokens{1, 1u << 24};
constexpr WholeRange kGpus{1, 1024};
constexpr std::array<std::pair<std::string_view, policy::Retraction>, 2> kRetractions{
    {{"copy", policy::Retraction::copy}, {"recompute", policy::Retraction::recompute}}};
constexpr std::array<std::pair<std::string_view, policy::Victims>, 2> kVictims{
    {{"least_lost", policy::Victims::least_lost}, {"latest", policy::Victims::latest}}};

StepLaw::Coefficients read_coefficients(TableReader& table, std::string_view key) {
  const std::vector<double> values = table.numbers_or_none(key, {0, 1e6});
  if (values.size() != 3) {
    table.refuse(key, "three numbers are wanted: a, b and c");
  }
  return {values[0], values[1], values[2]};
}

StepLaw read_law(TableReader table) {
  StepLaw law;
  law.prefill = read_coefficients(table, "prefill");
  law.decode_small = read_coefficients(table, "decode_small");
  law.decode_large = table.has("decode_large") ? read_coefficients(table, "decode_large") : law.decode_small;
  law.decode_split = table.count_or("decode_split", 95, {1, 1u << 20});
  law.stage_ms = table.number_or("stage_ms", 0, {0, 1e6});
  law.entry_ms = table.number_or("entry_ms", 0, {0, 1e6});
  law.entry_ms_per_token = table.number_or("entry_ms_per_token", 0, {0, 1e6});
  table.finish();
  return law;
}

void read_cost(TableReader& pool, const std::string& folder, CostSpec& cost) {
  constexpr std::array<std::pair<std::string_view, CostKind>, 5> kKinds{{{"roofline", CostKind::roofline},
                                                                         {"fitted", CostKind::fitted},
                                                                         {"kernels", CostKind::kernels},
                                                                         {"operators", CostKind::operators},
                                                                         {"law", CostKind::law}}};
  cost.kind = pool.choice("cost", kKinds);
  cost.base_folder = folder;
  if (cost.kind == CostKind::kernels) {
    TableReader table = pool.table("kernels");
    cost.attention = table.word("attention");
    cost.dense = table.word("dense");
    cost.per_sequence = table.word("per_sequence");
    cost.skew_fit = table.word_or("skew_fit", "");
    table.finish();
  } else if (cost.kind == CostKind::operators) {
    TableReader table = pool.table("operators");
    cost.folder = table.word("folder");
    table.finish();
  } else if (cost.kind == CostKind::law) {
    cost.law = read_law(pool.table("law"));
  }
}

void read_speculation(TableReader& pool, Speculation& speculation) {
  auto table = pool.table_or_none("speculation");
  if (!table) {
    return;
  }
  speculation.drafts = table->count("drafts", {1, 64});
  speculation.acceptance = table->numbers_or_none("acceptance", {0, 1});
  if (speculation.acceptance.size() != speculation.drafts) {
    table->refuse("acceptance", fmt::format("{} chances are wanted, one for each draft", speculation.drafts));
  }
  speculation.draft_layers = table->number_or("draft_layers", 1, {0, 1000});
  table->finish();
}

void read_graph_batches(TableReader& pool, std::vector<std::uint32_t>& batches) {
  for (const double size : pool.numbers_or_none("graph_batches", {1, 1u << 20})) {
    batches.push_back(static_cast<std::uint32_t>(size));
    if (batches.back() != size || (batches.size() > 1 && batches.back() <= batches[batches.size() - 2])) {
      pool.refuse("graph_batches", "whole numbers that ascend are wanted");
    }
  }
}

void read_parallel(TableReader& pool, StepSetup& setup) {
  setup.parallel.tp = pool.count_or("tp", 1, kGpus);
  setup.parallel.pp = pool.count_or("pp", 1, kGpus);
  setup.parallel.dp = pool.count_or("dp", 1, kGpus);
  setup.parallel.ep = pool.count_or("ep", 1, kGpus);
  setup.redundant_experts = pool.count_or("redundant_experts", 0, {0, 4096});
}

void read_skew(TableReader& pool, const PoolSpec& spec, StepSetup& setup) {
  setup.expert_skew = pool.number_or("expert_skew", 1, {1, 1000});
  const double alpha = pool.number_or("expert_alpha", 0, {0.01, 10});
  if (alpha > 0 && pool.has("expert_skew")) {
    pool.refuse("expert_alpha", "expert_skew says the same; give one of them");
  }
  if (alpha > 0 && setup.model.is_mixture()) {
    const std::uint32_t tokens = spec.role == PoolRole::decode ? spec.limits.running_max : spec.limits.step_tokens;
    const std::uint32_t experts = setup.model.experts + setup.redundant_experts;
    setup.expert_skew =
        power_law_skew({alpha, experts, setup.parallel.ep, static_cast<std::uint64_t>(tokens) * setup.parallel.dp});
  }
}

void read_exchange(TableReader& pool, PoolRole role, StepSetup& setup) {
  constexpr std::array<std::pair<std::string_view, bool>, 2> kOverlaps{{{"none", false}, {"two_batch", true}}};
  constexpr std::array<std::pair<std::string_view, AllToAll>, 2> kModes{
      {{"normal", AllToAll::normal}, {"low_latency", AllToAll::low_latency}}};
  const AllToAll usual = role == PoolRole::decode ? AllToAll::low_latency : AllToAll::normal;
  setup.all_to_all = pool.choice_or("all_to_all", usual, kModes);
  setup.two_batch_overlap = pool.choice_or("overlap", false, kOverlaps);
}

void read_setup(TableReader& pool, PoolSpec& spec) {
  StepSetup& setup = spec.setup;
  setup.overlap_efficiency = pool.number_or("overlap_efficiency", 1, {0, 1});
  setup.wire_slowdown = pool.number_or("wire_slowdown", 1, {1, 100});
  setup.host_overhead = duration_of(pool.number_or("host_overhead_us", 0, kMicroseconds), 1e3);
  setup.layer_gap = duration_of(pool.number_or("layer_gap_us", 0, kMicroseconds), 1e3);
  read_graph_batches(pool, setup.graph_batches);
  read_speculation(pool, setup.speculation);
  read_skew(pool, spec, setup);
}

void read_memory(TableReader& pool, PoolSpec& spec) {
  if (pool.has("kv_tokens")) {
    spec.kv_tokens = pool.whole("kv_tokens", {1, 1ull << 40});
    for (const char* key : {"memory_fraction", "activation_gib", "graph_gib", "collective_gib"}) {
      if (pool.has(key)) {
        pool.refuse(key, "kv_tokens says how much there is; this would have no effect");
      }
    }
    return;
  }
  spec.memory_fraction = pool.number_or("memory_fraction", 0.9, {0.01, 1});
  spec.activation_gib = pool.number_or("activation_gib", 0, kGib);
  spec.graph_gib = pool.number_or("graph_gib", 0, kGib);
  spec.collective_gib = pool.number_or("collective_gib", 0, kGib);
}

// Not of further pools, whose keys of this kind are thus unknown ones at the least.
void read_rules(TableReader& pool, PoolSpec& spec) {
  PoolLimits& limits = spec.limits;
  limits.step_tokens = pool.count_or("step_tokens", limits.step_tokens, kTokens);
  limits.step_sequences = pool.count_or("step_sequences", limits.step_sequences, {1, 1u << 20});
  limits.running_max = pool.count_or("running_max", limits.running_max, {1, 1u << 20});
  limits.lookahead_tokens = pool.count_or("lookahead_tokens", limits.lookahead_tokens, {0, 1u << 24});
  limits.waiting_max = pool.count_or("waiting_max", limits.waiting_max, {1, 1u << 24});
  limits.steps_in_flight = pool.count_or("steps_in_flight", spec.setup.parallel.pp, {1, 1024});
  limits.even_steps = pool.flag_or("even_steps", limits.even_steps);
  limits.plan_ahead = pool.flag_or("plan_ahead", limits.plan_ahead);
  limits.retraction = pool.choice_or("retraction", limits.retraction, kRetractions);
  limits.victims = pool.choice_or("victims", limits.victims, kVictims);
  spec.prefix_cache = pool.flag_or("prefix_cache", spec.prefix_cache);
}

// What a rank reaches over its links: its own setting, that of [links], or what its GPUs have together.
void read_rates(TableReader& pool, const PoolContext& shared, PoolSpec& spec) {
  const HardwareSpec& hardware = spec.setup.hardware;
  const double gpus = spec.setup.parallel.rank_gpus();
  const double nic = hardware.nic_bytes_per_s * hardware.nic_goodput * gpus / 1e9;
  spec.nic_bytes_per_s = 1e9 * pool.number_or("nic_gbytes_per_s", shared.nic_gbytes.value_or(nic), kGbytesPerS);
  const double nvlink = hardware.nvlink_bytes_per_s * gpus / 1e9;
  spec.nvlink_bytes_per_s =
      1e9 * pool.number_or("nvlink_gbytes_per_s", shared.nvlink_gbytes.value_or(nvlink), kGbytesPerS);
  const std::uint32_t in_domain = std::max(1u, hardware.domain_gpus / spec.setup.parallel.rank_gpus());
  spec.node_ranks = pool.count_or("node_ranks", in_domain, kGpus);
}

void check_pool(TableReader& pool, const PoolSpec& spec) {
  if (spec.ranks % spec.setup.parallel.dp != 0) {
    pool.refuse("ranks",
                fmt::format("{} ranks do not make whole groups of dp = {}", spec.ranks, spec.setup.parallel.dp));
  }
  if (spec.cost.kind == CostKind::fitted && !spec.setup.hardware.fitted) {
    pool.refuse("cost", fmt::format("nobody has fitted constants for {}: use \"roofline\", or tables of your own",
                                    spec.setup.hardware.name));
  }
  try {
    check_setup(spec.setup);
  } catch (const Error& error) {
    pool.refuse("hardware", error.what());
  }
}

void check_memory(TableReader& pool, std::uint32_t page_tokens, const PoolSpec& spec) {
  try {
    const KvCapacity capacity = kv_capacity(spec);
    if (capacity.tokens < page_tokens) {
      throw Error(Errc::too_large,
                  fmt::format("there is no room for a page of {} tokens: {}", page_tokens, capacity.arithmetic));
    }
    if (spec.running_tokens > 0) {
      require_room(capacity, spec.limits.running_max, spec.running_tokens);
    }
  } catch (const Error& error) {
    pool.refuse(spec.kv_tokens ? "kv_tokens" : spec.running_tokens > 0 ? "running_tokens" : "hardware", error.what());
  }
}

// After everything that decides which settings mean something.
void refuse_without_effect(TableReader& pool, const PoolSpec& spec, const LinkSpec& links) {
  for (const std::string& key : pool.keys()) {
    if (const std::string_view why = no_effect(spec, links, key); !why.empty()) {
      pool.refuse(key, fmt::format("it would have no effect: {}", why));
    }
  }
}

}  // namespace

Duration duration_of(double value, double unit_ns) {
  return Duration(std::llround(value * unit_ns));
}

// What the first pool of a role says for the further ones.
void take_from_first(const PoolSpec& first, PoolSpec& spec) {
  spec.further = true;
  spec.limits = first.limits;
  spec.prefix_cache = first.prefix_cache;
}

PoolSpec read_pool(TableReader pool, PoolRole role, const PoolContext& shared) {
  PoolSpec spec;
  spec.role = role;
  if (shared.first != nullptr) {
    take_from_first(*shared.first, spec);
  }
  spec.ranks = pool.count("ranks", {1, 100'000});
  spec.hardware = pool.word("hardware");
  spec.setup.hardware = named_file(pool, "hardware", load_hardware, spec.hardware);
  spec.setup.model = shared.cluster.model;
  spec.setup.precision = shared.cluster.precision;
  read_parallel(pool, spec.setup);
  read_cost(pool, shared.folder, spec.cost);
  check_pool(pool, spec);
  if (shared.first != nullptr && spec.setup.parallel.pp != shared.first->setup.parallel.pp) {
    pool.refuse("pp", "pools of one role have equally many stages");
  }
  read_exchange(pool, role, spec.setup);
  refuse_without_effect(pool, spec, shared.cluster.links);
  if (!spec.further) {
    read_rules(pool, spec);
  }
  read_setup(pool, spec);
  read_memory(pool, spec);
  spec.running_tokens = pool.count_or("running_tokens", 0, {0, 1u << 24});
  read_rates(pool, shared, spec);
  pool.finish();
  check_pool(pool, spec);
  check_memory(pool, shared.cluster.page_tokens, spec);
  return spec;
}

}  // namespace baton::sim
