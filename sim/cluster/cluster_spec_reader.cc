#include <algorithm>

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

std::string known_policies() {
  using policy::Routing;
  std::string known;
  for (const Routing routing :
       {Routing::round_robin, Routing::random, Routing::least_loaded, Routing::power_of_two, Routing::prefix_aware}) {
    known += fmt::format("{}\"{}\"", known.empty() ? "one of " : ", ", policy::to_string(routing));
  }
  return known;
}

void read_routing(TableReader& top, ClusterSpec& spec) {
  if (auto table = top.table_or_none("routing")) {
    spec.routing = table->word_or("policy", spec.routing);
    if (!policy::parse_routing(spec.routing)) {
      table->refuse("policy", fmt::format("{} is wanted, not \"{}\"", known_policies(), spec.routing));
    }
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
    if (key != spec.decode.hardware && (!spec.prefill || key != spec.prefill->hardware)) {
      table->refuse(key, "no pool of this cluster is of that hardware");
    }
    spec.usd_per_gpu_hour[key] = table->number(key, {0, 1e6});
  }
}

void read_pools(TableReader& top, ClusterSpec& spec, const PoolContext& shared) {
  if (auto pool = top.table_or_none("aggregated")) {
    for (const char* key : {"prefill", "decode"}) {
      if (top.has(key)) {
        top.refuse(key, "a cluster has [prefill] and [decode], or [aggregated]");
      }
    }
    if (top.has("links")) {
      top.refuse("links", "nothing is handed over in an aggregated cluster");
    }
    spec.decode = read_pool(*pool, PoolRole::aggregated, shared);
    return;
  }
  spec.prefill = read_pool(top.table("prefill"), PoolRole::prefill, shared);
  spec.decode = read_pool(top.table("decode"), PoolRole::decode, shared);
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
  PoolContext shared{spec, slash == std::string::npos ? "" : file.substr(0, slash), {}, {}};
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
