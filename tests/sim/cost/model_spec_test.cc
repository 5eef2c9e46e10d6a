#include "sim/cost/model_spec.h"

#include <string>

#include <doctest/doctest.h>

#include "sim/cost/data_file.h"
#include "tests/sim/cost/error_text.h"

namespace baton::sim {
namespace {

// Published sizes, in billions, and bytes of keys and values per token at bf16 (the models' papers and config.json).
struct Published {
  const char* name;
  double parameters;
  double active;  // 0: dense
  double kv_bytes;
};

constexpr Published kPublished[] = {
    {"llama-3.1-8b", 8.03, 0, 131'072},     {"llama-3.1-70b", 70.55, 0, 327'680},
    {"llama-3.1-405b", 405.85, 0, 516'096}, {"qwen2.5-7b", 7.62, 0, 57'344},
    {"qwen2.5-32b", 32.76, 0, 262'144},     {"qwen2.5-72b", 72.7, 0, 327'680},
    {"qwen3-8b", 8.19, 0, 147'456},         {"qwen3-32b", 32.76, 0, 262'144},
    {"qwen3-30b-a3b", 30.53, 3.35, 98'304}, {"qwen3-235b-a22b", 235.1, 22.19, 192'512},
    {"qwen3-coder-480b", 480, 35, 253'952}, {"smollm2-135m", 0.1345, 0, 23'040},
    {"mixtral-8x7b", 46.7, 12.88, 131'072}, {"gpt-oss-120b", 116.8, 5.7, 73'728},
    {"gpt-oss-20b", 20.9, 4.2, 49'152},     {"deepseek-v3", 671.0, 37.55, 70'272},
    {"kimi-k2", 1026, 32.86, 70'272},       {"opt-13b", 13, 0, 819'200},
    {"opt-66b", 66, 0, 2'359'296},          {"opt-175b", 175, 0, 4'718'592},
    {"bloom-176b", 176, 0, 4'014'080},
};

TEST_CASE("ModelSpec: every model adds up to its published size") {
  CHECK(data_names(DataKind::model).size() == std::size(kPublished));
  for (const Published& published : kPublished) {
    CAPTURE(published.name);
    const ModelSpec model = load_model(published.name);
    CHECK(model.parameters() / 1e9 == doctest::Approx(published.parameters).epsilon(0.013));
    if (published.active > 0) {
      CHECK(model.active_parameters() / 1e9 == doctest::Approx(published.active).epsilon(0.014));
    } else {
      CHECK(model.active_parameters() == model.parameters());
    }
    CHECK(model.kv_bytes_per_token(Dtype::bf16) == published.kv_bytes);
    CHECK(model.kv_bytes_per_token(Dtype::fp8) == published.kv_bytes / 2);
  }
}

TEST_CASE("ModelSpec: keys and values of 4,096 tokens take what their transfer is reckoned with") {
  const auto mib = [](const char* name) { return load_model(name).kv_bytes(4096, Dtype::bf16) / (1024 * 1024); };
  CHECK(mib("llama-3.1-8b") == 512);
  CHECK(mib("llama-3.1-70b") == 1280);
  CHECK(mib("qwen3-235b-a22b") == 752);
  CHECK(mib("deepseek-v3") == 274.5);
  CHECK(mib("opt-66b") == 9216);
  CHECK(load_model("opt-66b").kv_bytes(512, Dtype::bf16) / (1024.0 * 1024 * 1024) == 1.125);
}

TEST_CASE("ModelSpec: windowed layers keep no more than their window") {
  const ModelSpec model = load_model("gpt-oss-120b");
  const double layer = model.kv_layer_bytes(Dtype::bf16);
  CHECK(model.windowed_layers() == 18);
  CHECK(model.kv_bytes(100, Dtype::bf16) == 36 * layer * 100);
  CHECK(model.kv_bytes(4096, Dtype::bf16) == 18 * layer * (4096 + 128));
}

TEST_CASE("ModelSpec: latent attention has the parameters of its paper") {
  CHECK(load_model("deepseek-v3").attention_parameters() / 1e6 == doctest::Approx(187.1).epsilon(0.001));
  CHECK(load_model("kimi-k2").attention_parameters() / 1e6 == doctest::Approx(101.1).epsilon(0.001));
}

constexpr const char* kSmall = R"(name = "small"
layers = 2
hidden = 64
vocabulary = 100
[attention]
kind = "grouped"
heads = 4
kv_heads = 2
head_dim = 16
[ffn]
width = 128
)";

TEST_CASE("ModelSpec: a model file that does not make sense is refused by line and key") {
  CHECK(parse_model(kSmall, "m.toml").parameters() > 0);
  const std::string text = kSmall;
  const auto refused = [](const std::string& changed) { return error_text([&] { parse_model(changed, "m.toml"); }); };
  CHECK(contains(refused(text + "heigth = 3\n"), "m.toml:12: ffn.heigth: unknown; known here: gated, width"));
  CHECK(
      contains(refused(text + "[published]\nparameters = 1e9\n"), "m.toml:13: published.parameters: 1e+09 is stated"));
  CHECK(contains(refused(text.substr(0, text.find("[ffn]"))), "ffn: missing"));
  std::string changed = text;
  changed.replace(changed.find("kv_heads = 2"), 12, "kv_heads = 3");
  CHECK(contains(refused(changed), "m.toml:8: attention.kv_heads: 4 heads cannot share 3 evenly"));
  changed = text;
  changed.replace(changed.find("layers = 2"), 10, "layers = -2");
  CHECK(contains(refused(changed), "m.toml:2: layers: a whole number from 1 to 4096 is wanted, not -2"));
  CHECK(contains(refused("name = \n"), "m.toml:1:"));
}

TEST_CASE("ModelSpec: an unknown name is answered with the known ones") {
  const std::string text = error_text([] { load_model("llama-9000"); });
  CHECK(contains(text, "there is no model 'llama-9000'"));
  CHECK(contains(text, "deepseek-v3"));
  CHECK(contains(error_text([] { load_model("nowhere/x.toml"); }), "nowhere/x.toml: cannot be read"));
  CHECK(load_model("Llama-3.1-70B").layers == 80);
}

}  // namespace
}  // namespace baton::sim
