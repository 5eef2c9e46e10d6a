#include "sim/cluster/cluster_spec.h"

#include <array>

#include <fmt/format.h>
#include <xxhash.h>

#include "runtime/check.h"
#include "runtime/text_file.h"
#include "sim/cluster/cluster_spec_keys.h"
#include "sim/cost/data_file.h"
#include "sim/cost/toml_node.h"

namespace baton::sim {
namespace {

std::string text_hash(std::string_view text) {
  return fmt::format("{:016x}", XXH64(text.data(), text.size(), 0));
}

// Collects lines of "key = value".
class Lines final {
 public:
  void section(std::string_view name) { text_ += fmt::format("\n[{}]\n", name); }
  void comment(std::string_view words) { text_ += fmt::format("# {}\n", words); }
  void number(std::string_view key, double value) { raw(key, toml_number(value)); }
  void whole(std::string_view key, std::uint64_t value) { raw(key, std::to_string(value)); }
  void word(std::string_view key, std::string_view value) { raw(key, toml_quoted_word(value)); }
  void flag(std::string_view key, bool value) { raw(key, value ? "true" : "false"); }
  void time(std::string_view key, Duration value, double unit_ns) {
    number(key, static_cast<double>(value.count()) / unit_ns);
  }
  template <class Values>
  void list(std::string_view key, const Values& values) {
    std::string text;
    for (const auto value : values) {
      text += text.empty() ? "" : ", ";
      text += toml_number(static_cast<double>(value));
    }
    raw(key, "[" + text + "]");
  }  // Leaves out keys from here on that have no effect in that pool; null: none.
  void only_of(const PoolSpec* pool, const LinkSpec* links) {
    pool_ = pool;
    links_ = links;
  }
  bool has_effect(std::string_view key) const { return pool_ == nullptr || no_effect(*pool_, *links_, key).empty(); }
  std::string take() { return std::move(text_); }

 private:
  void raw(std::string_view key, std::string_view value) {
    if (has_effect(key)) {
      text_ += fmt::format("{} = {}\n", key, value);
    }
  }

  const PoolSpec* pool_ = nullptr;
  const LinkSpec* links_ = nullptr;
  std::string text_;
};

constexpr double kMicro = 1e3;
constexpr double kMilli = 1e6;
constexpr double kSecond = 1e9;

void write_kernels(Lines& lines, const CostSpec& cost) {
  const auto file = [&](std::string_view key, const std::string& path) {
    if (!path.empty()) {
      lines.word(key, path);
      lines.comment("xxh64 " + text_hash(read_text_file(cost.resolve(path))));
    }
  };
  file("attention", cost.attention);
  file("dense", cost.dense);
  file("per_sequence", cost.per_sequence);
  file("skew_fit", cost.skew_fit);
}

void write_law(Lines& lines, const StepLaw& law) {
  lines.list("prefill", law.prefill);
  lines.list("decode_small", law.decode_small);
  lines.list("decode_large", law.decode_large);
  lines.whole("decode_split", law.decode_split);
  lines.number("stage_ms", law.stage_ms);
  lines.number("entry_ms", law.entry_ms);
  lines.number("entry_ms_per_token", law.entry_ms_per_token);
}

void write_cost(Lines& lines, const std::string& pool, const CostSpec& cost) {
  if (cost.kind == CostKind::kernels) {
    lines.section(pool + ".kernels");
    write_kernels(lines, cost);
  } else if (cost.kind == CostKind::operators) {
    lines.section(pool + ".operators");
    lines.word("folder", cost.folder);
  } else if (cost.kind == CostKind::law) {
    lines.section(pool + ".law");
    write_law(lines, cost.law);
  }
}

void write_setup(Lines& lines, const StepSetup& setup) {
  lines.whole("tp", setup.parallel.tp);
  lines.whole("pp", setup.parallel.pp);
  lines.whole("ep", setup.parallel.ep);
  lines.whole("dp", setup.parallel.dp);
  lines.word("all_to_all", setup.all_to_all == AllToAll::normal ? "normal" : "low_latency");
  lines.number("expert_skew", setup.expert_skew);
  lines.number("wire_slowdown", setup.wire_slowdown);
  lines.whole("redundant_experts", setup.redundant_experts);
  lines.word("overlap", setup.two_batch_overlap ? "two_batch" : "none");
  lines.number("overlap_efficiency", setup.overlap_efficiency);
  lines.time("host_overhead_us", setup.host_overhead, kMicro);
  lines.time("layer_gap_us", setup.layer_gap, kMicro);
  lines.list("graph_batches", setup.graph_batches);
}

void write_speculation(Lines& lines, const std::string& pool, const Speculation& speculation) {
  if (speculation.drafts > 0) {
    lines.section(pool + ".speculation");
    lines.whole("drafts", speculation.drafts);
    lines.list("acceptance", speculation.acceptance);
    lines.number("draft_layers", speculation.draft_layers);
  }
}

void write_pool(Lines& lines, const PoolSpec& pool, bool several, const LinkSpec& links) {
  const std::string name = to_string(pool.role);
  lines.section(several ? "[" + name + "]" : name);
  lines.only_of(&pool, &links);
  lines.whole("ranks", pool.ranks);
  lines.word("hardware", pool.hardware);
  lines.comment("xxh64 " + text_hash(find_data_file(DataKind::hardware, pool.hardware).text));
  lines.word("cost", to_string(pool.cost.kind));
  write_setup(lines, pool.setup);
  if (pool.kv_tokens) {
    lines.whole("kv_tokens", *pool.kv_tokens);
  } else {
    lines.number("memory_fraction", pool.memory_fraction);
    lines.number("activation_gib", pool.activation_gib);
    lines.number("graph_gib", pool.graph_gib);
    lines.number("collective_gib", pool.collective_gib);
  }
  lines.whole("running_tokens", pool.running_tokens);
  lines.whole("step_tokens", pool.limits.step_tokens);
  lines.whole("step_sequences", pool.limits.step_sequences);
  lines.whole("running_max", pool.limits.running_max);
  lines.whole("lookahead_tokens", pool.limits.lookahead_tokens);
  lines.whole("waiting_max", pool.limits.waiting_max);
  lines.whole("steps_in_flight", pool.limits.steps_in_flight);
  lines.flag("even_steps", pool.limits.even_steps);
  lines.flag("plan_ahead", pool.limits.plan_ahead);
  lines.word("retraction", pool.limits.retraction == policy::Retraction::copy ? "copy" : "recompute");
  lines.word("victims", pool.limits.victims == policy::Victims::latest ? "latest" : "least_lost");
  lines.flag("prefix_cache", pool.prefix_cache);
  lines.number("nic_gbytes_per_s", pool.nic_bytes_per_s / 1e9);
  lines.number("nvlink_gbytes_per_s", pool.nvlink_bytes_per_s / 1e9);
  lines.whole("node_ranks", pool.node_ranks);
  lines.only_of(nullptr, nullptr);
  write_speculation(lines, name, pool.setup.speculation);
  write_cost(lines, name, pool.cost);
}

void write_links(Lines& lines, const LinkSpec& links) {
  lines.section("links");
  if (links.spine_bytes_per_s > 0) {
    lines.number("spine_gbytes_per_s", links.spine_bytes_per_s / 1e9);
    lines.whole("spine_nodes", links.spine_nodes);
  }
  lines.time("latency_us", links.latency, kMicro);
  lines.time("per_message_us", links.per_message, kMicro);
  lines.word("streaming", to_string(links.streaming));
  lines.flag("infinite", links.infinite);
}

void write_top(Lines& lines, const ClusterSpec& spec) {
  lines.word("name", spec.name);
  lines.word("model", spec.model_name);
  lines.comment("xxh64 " + text_hash(find_data_file(DataKind::model, spec.model_name).text));
  lines.whole("page_tokens", spec.page_tokens);
  lines.whole("context_tokens", spec.context_tokens);
  lines.time("time_limit_s", spec.time_limit, kSecond);
  lines.section("precision");
  lines.word("weights", to_string(spec.precision.weights));
  lines.word("activations", to_string(spec.precision.activations));
  lines.word("kv", to_string(spec.precision.kv));
}

}  // namespace

const char* to_string(PoolRole role) noexcept {
  constexpr std::array kNames{"prefill", "decode", "aggregated"};
  return kNames[static_cast<std::size_t>(role)];
}

const char* to_string(CostKind kind) noexcept {
  constexpr std::array kNames{"roofline", "fitted", "kernels", "operators", "law"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* to_string(Streaming streaming) noexcept {
  return streaming == Streaming::chunk ? "chunk" : "layer";
}

std::string CostSpec::resolve(const std::string& path) const {
  return path.starts_with('/') || base_folder.empty() ? path : base_folder + "/" + path;
}

std::vector<const PoolSpec*> ClusterSpec::pools(Role role) const {
  std::vector<const PoolSpec*> kinds;
  if (role == Role::prefill) {
    if (prefill) {
      kinds.push_back(&*prefill);
    }
  } else {
    kinds.push_back(&decode);
  }
  for (const PoolSpec& pool : role == Role::prefill ? more_prefill : more_decode) {
    kinds.push_back(&pool);
  }
  return kinds;
}

const PoolSpec& ClusterSpec::pool_of(RankId rank) const {
  std::uint32_t index = rank.index;
  for (const PoolSpec* pool : pools(rank.role)) {
    if (index < pool->ranks) {
      return *pool;
    }
    index -= pool->ranks;
  }
  BATON_CHECK(false, rank.index);
  return decode;
}

std::string ClusterSpec::effective() const {
  Lines lines;
  write_top(lines, *this);
  for (const Role role : {Role::prefill, Role::decode}) {
    const std::vector<const PoolSpec*> kinds = pools(role);
    for (const PoolSpec* pool : kinds) {
      write_pool(lines, *pool, kinds.size() > 1, links);
    }
  }
  if (prefill) {
    write_links(lines, links);
  }
  lines.section("routing");
  lines.word("policy", policy::to_string(routing));
  lines.section("slo");
  lines.time("ttft_ms", slo.ttft, kMilli);
  lines.time("tpot_ms", slo.tpot, kMilli);
  lines.number("percentile", slo.percentile);
  if (!usd_per_gpu_hour.empty()) {
    lines.section("usd_per_gpu_hour");
    for (const auto& [hardware, price] : usd_per_gpu_hour) {
      lines.number(toml_quoted_word(hardware), price);
    }
  }
  return lines.take();
}

std::string ClusterSpec::hash() const {
  return text_hash(effective());
}

}  // namespace baton::sim
