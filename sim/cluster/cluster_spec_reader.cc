#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "roles/policy/routing.h"
#include "runtime/errors.h"
#include "runtime/text_file.h"
#include "sim/cluster/cluster_pool_reader.h"
#include "sim/cluster/cluster_spec.h"
#include "sim/cost/table_reader.h"

namespace baton::sim {
namespace {

constexpr NumberRange kGbytesPerS{0, 1e6};
constexpr NumberRange kMicroseconds{0, 1e9};

void read_precision(TableReader& top, ClusterSpec& spec) {
  auto table = top.table_or_none("precision");
  if (!table) {
    return;
  }
  spec.precision.weights = table->choice_or("weights", Dtype::bf16, kDtypeNames);
  spec.precision.activations = table->choice_or("activations", spec.precision.weights, kDtypeNames);
  spec.precision.kv = table->choice_or("kv", Dtype::bf16, kKvDtypeNames);
  table->finish();
}

void read_links(TableReader& top, ClusterSpec& spec, PoolContext& shared) {
  auto table = top.table_or_none("links");
  if (!table) {
    return;
  }
  constexpr std::array<std::pair<std::string_view, Streaming>, 2> kStreaming{
      {{"chunk", Streaming::chunk}, {"layer", Streaming::layer}}};
  if (table->has("nic_gbytes_per_s")) {
    shared.nic_gbytes = table->number("nic_gbytes_per_s", kGbytesPerS);
  }
  if (table->has("nvlink_gbytes_per_s")) {
    shared.nvlink_gbytes = table->number("nvlink_gbytes_per_s", kGbytesPerS);
  }
  spec.links.infinite = table->flag_or("infinite", false);
  spec.links.spine_bytes_per_s = 1e9 * table->number_or("spine_gbytes_per_s", 0, kGbytesPerS);
  spec.links.spine_nodes = table->count_or("spine_nodes", 1, {1, 100'000});
  if (table->has("spine_nodes") && spec.links.spine_bytes_per_s == 0) {
    table->refuse("spine_nodes", "it would have no effect without spine_gbytes_per_s");
  }
  for (const char* key : {"nic_gbytes_per_s", "nvlink_gbytes_per_s", "spine_gbytes_per_s"}) {
    if (spec.links.infinite && table->has(key)) {
      table->refuse(key, "infinite links have no rate");
    }
  }
  spec.links.latency = duration_of(table->number_or("latency_us", 0, kMicroseconds), 1e3);
  spec.links.per_message = duration_of(table->number_or("per_message_us", 0, kMicroseconds), 1e3);
  spec.links.streaming = table->choice_or("streaming", Streaming::chunk, kStreaming);
  table->finish();
}

void read_routing(TableReader& top, ClusterSpec& spec) {
  using policy::Routing;
  std::array<std::pair<std::string_view, Routing>, 5> policies;
  std::ranges::transform(std::array{Routing::round_robin, Routing::random, Routing::least_loaded, Routing::power_of_two,
                                    Routing::prefix_aware},
                         policies.begin(),
                         [](Routing routing) { return std::pair(policy::to_string(routing), routing); });
  if (auto table = top.table_or_none("routing")) {
    spec.routing = table->choice_or("policy", spec.routing, policies);
    table->finish();
  }
}

void read_slo(TableReader& top, SloSpec& slo) {
  if (auto table = top.table_or_none("slo")) {
    slo.ttft = duration_of(table->number_or("ttft_ms", 0, {0, 1e9}), 1e6);
    slo.tpot = duration_of(table->number_or("tpot_ms", 0, {0, 1e9}), 1e6);
    slo.percentile = table->number_or("percentile", 90, {1, 100});
    table->finish();
  }
}

void read_prices(TableReader& top, ClusterSpec& spec) {
  auto table = top.table_or_none("usd_per_gpu_hour");
  if (!table) {
    return;
  }
  for (const std::string& key : table->keys()) {
    const auto is_of = [&](const PoolSpec* pool) { return pool->hardware == key; };
    if (std::ranges::none_of(spec.pools(Role::prefill), is_of) &&
        std::ranges::none_of(spec.pools(Role::decode), is_of)) {
      table->refuse(key, "no pool of this cluster is of that hardware");
    }
    spec.usd_per_gpu_hour[key] = table->number(key, {0, 1e6});
  }
}

// The one table of that name, or each of a list of them.
std::vector<PoolSpec> read_kinds(TableReader& top, PoolRole role, PoolContext shared) {
  const std::string key = to_string(role);
  std::vector<PoolSpec> kinds;
  if (!top.has_list(key)) {
    kinds.push_back(read_pool(top.table(key), role, shared));
    return kinds;
  }
  std::vector<TableReader> tables = top.tables_or_none(key);
  if (tables.empty()) {
    top.refuse(key, "at least one is wanted");
  }
  kinds.reserve(tables.size());  // the first is referred to
  for (TableReader& table : tables) {
    shared.first = kinds.empty() ? nullptr : &kinds.front();
    kinds.push_back(read_pool(table, role, shared));
  }
  return kinds;
}

// The first kind and the others, each to its place.
void take_kinds(std::vector<PoolSpec> kinds, PoolSpec& first, std::vector<PoolSpec>& more) {
  first = std::move(kinds.front());
  more.assign(std::make_move_iterator(kinds.begin() + 1), std::make_move_iterator(kinds.end()));
}

void read_pools(TableReader& top, ClusterSpec& spec, const PoolContext& shared) {
  if (top.has("aggregated")) {
    for (const char* key : {"prefill", "decode"}) {
      if (top.has(key)) {
        top.refuse(key, "a cluster has [prefill] and [decode], or [aggregated]");
      }
    }
    if (top.has("links")) {
      top.refuse("links", "nothing is handed over in an aggregated cluster");
    }
    take_kinds(read_kinds(top, PoolRole::aggregated, shared), spec.decode, spec.more_decode);
    return;
  }
  take_kinds(read_kinds(top, PoolRole::prefill, shared), spec.prefill.emplace(), spec.more_prefill);
  take_kinds(read_kinds(top, PoolRole::decode, shared), spec.decode, spec.more_decode);
}

}  // namespace

ClusterSpec parse_cluster(std::string_view text, const std::string& file) {
  const TomlNode root = parse_toml(text, file);
  TableReader top(root, file);
  ClusterSpec spec;
  spec.name = top.word("name");
  spec.model_name = top.word("model");
  spec.model = named_file(top, "model", load_model, spec.model_name);
  spec.page_tokens = top.count_or("page_tokens", 16, {1, 1u << 20});
  spec.context_tokens = top.count_or("context_tokens", 0, {0, 1u << 24});
  spec.time_limit = duration_of(top.number_or("time_limit_s", 3600, {0.001, 1e9}), 1e9);
  read_precision(top, spec);
  const std::size_t slash = file.rfind('/');
  PoolContext shared{spec, slash == std::string::npos ? "" : file.substr(0, slash), {}, {}, nullptr};
  read_links(top, spec, shared);
  read_pools(top, spec, shared);
  read_routing(top, spec);
  read_slo(top, spec.slo);
  read_prices(top, spec);
  top.finish();
  return spec;
}

ClusterSpec read_cluster(const std::string& path) {
  return parse_cluster(read_text_file(path), path);
}

}  // namespace baton::sim
