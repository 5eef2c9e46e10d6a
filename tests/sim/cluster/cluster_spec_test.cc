#include "sim/cluster/cluster_spec.h"

#include <string>

#include <doctest/doctest.h>

#include "runtime/text_file.h"
#include "sim/cluster/cluster_cost.h"
#include "tests/sim/cost/error_text.h"

namespace baton::sim {
namespace {

constexpr const char* kExamples[] = {
    "examples/clusters/deepseek.toml",      "examples/clusters/distserve-opt66b.toml",
    "examples/clusters/llama70b-8p8d.toml", "examples/clusters/lmsys-96h100.toml",
    "examples/clusters/vllm-rtx4090.toml",  "examples/clusters/vllm-rtxpro6000.toml",
    "examples/clusters/mooncake-70b.toml",
};

constexpr const char* kSmall = R"(name = "small"
model = "llama-3.1-8b"
[prefill]
ranks = 1
hardware = "h100"
cost = "roofline"
[decode]
ranks = 2
hardware = "h200"
cost = "fitted"
)";

std::string refusal(const std::string& text) {
  return error_text([&] { parse_cluster(text, "c.toml"); });
}

std::string with(const std::string& line, const std::string& instead) {
  std::string text = kSmall;
  text.replace(text.find(line), line.size(), instead);
  return text;
}

TEST_CASE("ClusterSpec: the effective configuration reads back as the same cluster") {
  for (const char* path : kExamples) {
    CAPTURE(path);
    const ClusterSpec spec = read_cluster(path);
    const std::string effective = spec.effective();
    const ClusterSpec again = parse_cluster(effective, path);
    CHECK(again.effective() == effective);
    CHECK(again.hash() == spec.hash());
    CHECK(spec.hash().size() == 16);
  }
}

TEST_CASE("ClusterSpec: every example has cost models and room for keys and values") {
  for (const char* path : kExamples) {
    CAPTURE(path);
    const ClusterSpec spec = read_cluster(path);
    StepLoad load;
    load.add_decode(100);
    CHECK(make_cost_model(spec.decode)->cost(load).total > Duration{});
    CHECK(kv_capacity(spec.decode).tokens > 10'000);
    if (spec.prefill) {
      StepLoad prompt;
      prompt.add_prefill(100, 0, true);
      CHECK(make_cost_model(*spec.prefill)->cost(prompt).total > Duration{});
      CHECK(kv_capacity(*spec.prefill).tokens > 10'000);
    }
  }
}

TEST_CASE("ClusterSpec: the 96-GPU decode of 256 sequences is refused at 4 k, with the arithmetic") {
  const std::string path = "examples/clusters/lmsys-96h100.toml";
  std::string text = read_text_file(path);
  text.replace(text.find("running_tokens = 2100"), 21, "running_tokens = 4100");
  const std::string refusal = error_text([&] { parse_cluster(text, path); });
  CHECK(contains(refusal, "decode.running_tokens: 256 sequences of 4100 tokens need 1049600 tokens"));
  CHECK(contains(refusal, "0.835 * 80.00 GiB"));
}

TEST_CASE("ClusterSpec: names are resolved and links default to what the GPUs of a rank have") {
  const ClusterSpec spec = read_cluster("examples/clusters/llama70b-8p8d.toml");
  REQUIRE(spec.prefill.has_value());
  CHECK(spec.prefill->setup.hardware.name == "NVIDIA H100 SXM");
  CHECK(spec.model.layers == 80);
  CHECK(spec.decode.gpus() == 64);
  CHECK(spec.decode.nic_bytes_per_s == doctest::Approx(8 * 50e9 * 0.8));
  CHECK(spec.decode.node_ranks == 1);
  CHECK(spec.decode.setup.all_to_all == AllToAll::low_latency);
  CHECK(spec.prefill->setup.all_to_all == AllToAll::normal);
  CHECK_FALSE(spec.aggregated());
}

TEST_CASE("ClusterSpec: the hash moves with every setting") {
  const std::string hash = parse_cluster(kSmall, "c.toml").hash();
  CHECK(parse_cluster(with("ranks = 2", "ranks = 3"), "c.toml").hash() != hash);
  CHECK(parse_cluster(std::string(kSmall) + "[links]\nlatency_us = 1\n", "c.toml").hash() != hash);
  for (const char* line : {"plan_ahead = true", "retraction = \"recompute\"", "victims = \"latest\""}) {
    CHECK(parse_cluster(kSmall + std::string("\n") + line + "\n", "c.toml").hash() != hash);
  }
  CHECK(parse_cluster(std::string(kSmall) + "# nothing\n", "c.toml").hash() == hash);
}

TEST_CASE("ClusterSpec: a setting nobody reads is refused by line and key") {
  CHECK(contains(refusal(std::string(kSmall) + "rank = 3\n"), "c.toml:11: decode.rank: unknown; known here: "));
  CHECK(contains(refusal("colour = 1\n" + std::string(kSmall)), "c.toml:1: colour: unknown"));
  CHECK(contains(refusal(std::string(kSmall) + "[links]\nspeed = 1\n"), "c.toml:12: links.speed: unknown"));
  CHECK(contains(refusal(std::string(kSmall) + "[decode.law]\n"), "decode.law: unknown"));
  CHECK(contains(refusal(std::string(kSmall) + "kv_tokens = 5\nmemory_fraction = 0.9\n"),
                 "c.toml:12: decode.memory_fraction: kv_tokens says how much there is"));
  CHECK(contains(refusal(std::string(kSmall) + "[usd_per_gpu_hour]\nb200 = 1\n"), "no pool of this cluster"));
}

TEST_CASE("ClusterSpec: a name nobody knows is refused by line and key, with those that are known") {
  const std::string policy = refusal(std::string(kSmall) + "[routing]\npolicy = \"quickest\"\n");
  CHECK(contains(policy, "c.toml:12: routing.policy: one of \"round-robin\", \"random\""));
  CHECK(contains(policy, "\"prefix-aware\" is wanted, not \"quickest\""));
  CHECK(contains(refusal(with("\"h200\"", "\"h201\"")), "c.toml:9: decode.hardware: there is no hardware 'h201'"));
  CHECK(contains(refusal(with("llama-3.1-8b", "llama-0")), "c.toml:2: model: there is no model 'llama-0'"));
}

// Two kinds of decode ranks, the second as `more` says.
std::string with_kinds(const std::string& more) {
  return with("[decode]\nranks = 2", "[[decode]]\nranks = 2\nrunning_max = 9") + "[[decode]]\nranks = 3\n" + more;
}

TEST_CASE("ClusterSpec: a pool may have ranks of several kinds, and the first says what their schedulers do") {
  const std::string text =
      with_kinds("hardware = \"h100\"\ncost = \"roofline\"\n[usd_per_gpu_hour]\nh200 = 3\nh100 = 2\n");
  const ClusterSpec spec = parse_cluster(text, "c.toml");
  REQUIRE(spec.more_decode.size() == 1);
  CHECK(spec.more_decode[0].setup.hardware.name == "NVIDIA H100 SXM");
  CHECK(spec.more_decode[0].limits.running_max == 9);
  CHECK(spec.pools(Role::decode).size() == 2);
  CHECK(spec.pools(Role::prefill).size() == 1);
  CHECK(spec.pool_of({Role::decode, 1}).hardware == "h200");
  CHECK(spec.pool_of({Role::decode, 2}).hardware == "h100");
  CHECK(spec.pool_of({Role::decode, 4}).hardware == "h100");
  const ClusterSpec again = parse_cluster(spec.effective(), "c.toml");
  CHECK(again.effective() == spec.effective());
  CHECK(again.more_decode.at(0).limits.running_max == 9);

  const std::string h100 = "hardware = \"h100\"\ncost = \"roofline\"\n";
  CHECK(contains(refusal(with_kinds(h100 + "running_max = 9\n")),
                 "c.toml:16: decode[1].running_max: it would have no effect: the first of these pools says it"));
  for (const char* line : {"step_tokens = 9", "lookahead_tokens = 9", "waiting_max = 9", "plan_ahead = true",
                           "retraction = \"copy\"", "victims = \"latest\""}) {
    CAPTURE(line);
    CHECK(
        contains(refusal(with_kinds(h100 + line + "\n")), "it would have no effect: the first of these pools says it"));
  }
  CHECK(contains(refusal(with_kinds(h100 + "pp = 2\n")), "decode[1].pp: pools of one role have equally many stages"));
  CHECK(contains(refusal(with_kinds("hardware = \"h101\"\ncost = \"roofline\"\n")), "c.toml:14: decode[1].hardware"));
  const std::string head = std::string(kSmall).substr(0, std::string(kSmall).find("[decode]"));
  CHECK(contains(refusal("decode = []\n" + head), "c.toml:1: decode: at least one is wanted"));
}

TEST_CASE("ClusterSpec: a setting without effect is refused with its reason") {
  const std::string text = kSmall;
  const auto in_prefill = [&](const std::string& line) { return refusal(with("ranks = 1", "ranks = 1\n" + line)); };
  CHECK(contains(in_prefill("running_max = 8"),
                 "c.toml:5: prefill.running_max: it would have no effect: it is of decode"));
  CHECK(contains(in_prefill("graph_batches = [1]"), "it is of decode"));
  CHECK(contains(in_prefill("retraction = \"copy\""), "it is of decode"));
  CHECK(contains(in_prefill("expert_skew = 1.2"), "the model has no experts"));
  CHECK(contains(in_prefill("overlap = \"none\""), "with dp = 1 there is no group"));
  CHECK(contains(refusal(text + "prefix_cache = true\n"), "prompts are computed by the other pool"));
  CHECK(contains(refusal(text + "step_sequences = 8\n"), "only a pool that computes nothing but prompts"));
  CHECK(contains(refusal(text + "even_steps = false\n"), "without pipeline stages one step follows the other"));
  CHECK(contains(refusal(text + "[links]\nspine_nodes = 2\n"), "no effect without spine_gbytes_per_s"));
  CHECK(contains(refusal(text + "[links]\ninfinite = true\nnic_gbytes_per_s = 2\n"), "infinite links have no rate"));
  CHECK(contains(refusal(text + "nic_gbytes_per_s = 9\n[links]\ninfinite = true\n"), "infinite links have no rate"));
  const std::string law = "[decode.law]\nprefill = [1, 1, 1]\ndecode_small = [1, 1, 1]\n";
  CHECK(contains(error_text([&] { parse_cluster(with("\"fitted\"", "\"law\"\nlayer_gap_us = 1") + law, "c.toml"); }),
                 "a law has it in its coefficients"));
}

TEST_CASE("ClusterSpec: a bulk all-to-all is slowed down by what computes beside it, or not at all") {
  std::string text = with("llama-3.1-8b", "deepseek-v3");
  const auto decode = [&](const std::string& more) {
    std::string file = text;
    return file.replace(file.find("ranks = 2"), 9, "ranks = 32\ndp = 32\nep = 32\nwire_slowdown = 1.2\n" + more);
  };
  text.replace(text.find("ranks = 1"), 9, "ranks = 1\ntp = 32");
  CHECK(parse_cluster(decode(""), "c.toml").decode.setup.wire_slowdown == 1.2);
  CHECK(parse_cluster(decode("all_to_all = \"normal\"\noverlap = \"two_batch\""), "c.toml").name == "small");
  CHECK(contains(refusal(decode("all_to_all = \"normal\"")), "nothing computes beside the bulk all-to-all"));
}

TEST_CASE("ClusterSpec: a power law of expert loads becomes a skew, also where only copies make the experts go round") {
  std::string text = with("llama-3.1-8b", "mixtral-8x7b");
  text.replace(text.find("ranks = 2"), 9, "ranks = 16\ndp = 16\nep = 16\nredundant_experts = 8\nexpert_alpha = 1.2");
  text.replace(text.find("hardware = \"h100\""), 17, "hardware = \"h100\"\ntp = 2");
  const ClusterSpec spec = parse_cluster(text, "c.toml");
  CHECK(spec.decode.setup.expert_skew > 1.5);
  CHECK(parse_cluster(spec.effective(), "c.toml").decode.setup.expert_skew == spec.decode.setup.expert_skew);
}

TEST_CASE("ClusterSpec: what cannot be is refused with its reason") {
  CHECK(contains(refusal(with("ranks = 2", "ranks = 0")), "c.toml:8: decode.ranks: a whole number from 1"));
  CHECK(contains(refusal(with("ranks = 2", "ranks = 2\ntp = 3")),
                 "the 32 heads of Llama-3.1-8B do not divide by tp = 3"));
  CHECK(contains(refusal(with("ranks = 2", "ranks = 2\ndp = 2")), "has no experts"));
  CHECK(contains(refusal(with("\"h200\"", "\"l40s\"")), "c.toml:10: decode.cost: nobody has fitted constants"));
  CHECK(contains(refusal(with("\"h200\"", "\"h9000\"")), "there is no hardware 'h9000'; known are a100-80g"));
  CHECK(contains(refusal(with("\"fitted\"", "\"guess\"")), "one of \"roofline\", \"fitted\""));
  CHECK(contains(refusal(with("llama-3.1-8b", "gpt-9")), "there is no model 'gpt-9'"));
  CHECK(contains(refusal("name = \"x\"\nmodel = \"opt-13b\"\n"), "prefill: missing"));
  CHECK(contains(refusal(std::string(kSmall) + "[aggregated]\nranks=1\nhardware=\"h100\"\ncost=\"roofline\"\n"),
                 "a cluster has [prefill] and [decode], or [aggregated]"));
  CHECK(contains(refusal(with("ranks = 2", "ranks = 2\nkv_tokens = 10")),
                 "c.toml:9: decode.kv_tokens: there is no room for a page of 16 tokens: 10 tokens given"));
  CHECK(contains(refusal(with("ranks = 2", "ranks = 2\ngraph_batches = [2, 1]")), "whole numbers that ascend"));
}

}  // namespace
}  // namespace baton::sim
