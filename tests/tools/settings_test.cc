#include "tools/baton/settings.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/errors.h"

namespace baton {
namespace {

struct Pipeline {
  PipelineSettings settings;
  SettingTable table;

  Pipeline() { add_settings(table, settings); }

  // What check() says after these were set; empty when it agrees.
  std::string refusal(const std::vector<std::pair<std::string, std::string>>& values) {
    for (const auto& [name, value] : values) {
      table.set(name, value, "--" + name);
    }
    try {
      check(table, settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_CASE("PipelineSettings: the defaults are a pipeline of one rank each") {
  Pipeline pipeline;
  CHECK(pipeline.refusal({}).empty());
  CHECK(pipeline.settings.prefill == 1);
  CHECK(pipeline.settings.decode == 1);
  CHECK(pipeline.settings.mode == "pd");
}

TEST_CASE("PipelineSettings: every setting takes the text of its own value") {
  Pipeline pipeline;
  for (const Setting& setting : pipeline.table.all()) {
    CAPTURE(setting.name);
    const std::string before = setting.text();
    if (!before.empty()) {
      pipeline.table.set(setting.name, before, "test");
      CHECK(setting.text() == before);
    }
    CHECK_FALSE(setting.help.empty());
  }
}

TEST_CASE("PipelineSettings: a setting without use beside the others is refused") {
  CHECK(Pipeline().refusal({{"mode", "aggregated"}, {"transport", "inmemory-copy"}}) ==
        "--transport: has no use with --mode aggregated, where every rank does prefill and decode");
  CHECK(Pipeline().refusal({{"mode", "aggregated"}, {"prefill", "2"}}).starts_with("--prefill: has no use"));
  CHECK(Pipeline().refusal({{"kv-memory", "1GiB"}, {"kv-tokens", "4096"}}) ==
        "--kv-tokens: says the same as --kv-memory; give one of them");
  CHECK(Pipeline().refusal({{"kv-memory", "0"}}).starts_with("--kv-memory: "));
  CHECK(Pipeline().refusal({{"page-size", "8"}}) == "--page-size: pages hold 1, 16, 32 or 64 tokens");
  CHECK(Pipeline().refusal({{"routing", "prefix-aware"}, {"prefix-cache", "off"}}) ==
        "--routing: prefix-aware needs the prefix cache, which is off");
  CHECK(Pipeline().refusal({{"time-limit", "0"}}).starts_with("--time-limit: "));
  CHECK(Pipeline().refusal({{"mode", "aggregated"}, {"decode", "2"}}).empty());
}

TEST_CASE("GenerateSettings: a prompt is needed, and sampling settings need a temperature") {
  GenerateSettings settings;
  SettingTable table;
  add_settings(table, settings);
  CHECK_THROWS_AS(check(table, settings), Error);
  table.set("prompt", "Hello", "--prompt");
  CHECK_NOTHROW(check(table, settings));
  table.set("top-p", "0.9", "--top-p");
  CHECK_THROWS_WITH_AS(check(table, settings),
                       "--top-p: has no use without --temperature above 0, since the likeliest token is taken then",
                       Error);
  table.set("temperature", "0.8", "--temperature");
  CHECK_NOTHROW(check(table, settings));
}

}  // namespace
}  // namespace baton
