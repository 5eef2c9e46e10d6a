#include "sim/workload/synthetic.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/workload/page_keys.h"
#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;

std::vector<TraceRow> load(std::string_view toml) {
  return all_rows(synthetic_rows(parse_synthetic(toml, "l.toml")));
}

std::string refusal_of(std::string_view toml) {
  return refusal([&] { parse_synthetic(toml, "l.toml"); });
}

TEST_CASE("synthetic_rows: without settings a thousand requests, one by one") {
  const auto rows = load("");
  CHECK(rows.size() == 1000);
  for (const TraceRow& row : rows) {
    CHECK(!row.follows);
    CHECK(row.request.session == 0);
    CHECK(row.request.input_tokens == 512);
    CHECK(row.request.output_tokens == 128);
    CHECK(row.request.block_tokens == 0);
  }
}

TEST_CASE("synthetic_rows: it ends after so many requests, or so much time") {
  CHECK(load("requests = 17").size() == 17);
  CHECK(load("arrivals = \"constant:10\"\nduration = \"3s\"").size() == 30);
  CHECK(load("arrivals = \"constant:10\"\nduration = 3\nrequests = 7").size() == 7);
}

TEST_CASE("synthetic_rows: each turn's prompt is what was said before and more, and shares its blocks") {
  const auto rows = load(
      "requests = 400\nturns = \"uniform:1,5\"\ninput = \"uniform:10,90\"\noutput = \"uniform:5,60\"\n"
      "think = \"2s\"\nblock-tokens = 8");
  std::map<std::uint64_t, const TraceRequest*> last;
  std::size_t followed = 0;
  for (const TraceRow& row : rows) {
    const TraceRequest& request = row.request;
    REQUIRE(request.session != 0);
    const TraceRequest* before = last[request.session];
    CHECK(row.follows == (before != nullptr));
    if (before != nullptr) {
      ++followed;
      const std::uint32_t said = before->input_tokens + before->output_tokens;
      CHECK(request.turn == before->turn + 1);
      CHECK(request.input_tokens >= said + 10);
      CHECK(request.input_tokens <= said + 90);
      CHECK(request.think == std::chrono::seconds(2));
      const auto old_keys = page_keys(*before, 8, said);
      auto keys = prompt_page_keys(request, 8);
      CHECK(old_keys.size() == said / 8);
      REQUIRE(keys.size() >= old_keys.size());
      keys.resize(old_keys.size());
      CHECK(keys == old_keys);
    }
    last[request.session] = &request;
  }
  CHECK(followed > 200);
}

TEST_CASE("synthetic_rows: conversations of a group share its prompt and nothing else") {
  const auto rows =
      load("requests = 300\nprefix-groups = 3\nprefix-tokens = \"uniform:64,200\"\ninput = 100\nblock-tokens = 16");
  std::map<std::uint64_t, std::vector<std::uint64_t>> first_block;  // of a group -> the longest common prefix
  std::set<std::uint64_t> ends;
  for (const TraceRow& row : rows) {
    const auto keys = prompt_page_keys(row.request, 16);
    CHECK(row.request.session == 0);
    const auto [known, is_new] = first_block.emplace(keys[0], keys);
    const std::size_t shared = (row.request.input_tokens - 100) / 16;
    if (!is_new) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        CHECK((known->second[i] == keys[i]) == (i < shared));
      }
    }
    CHECK(ends.insert(keys.back()).second);
  }
  CHECK(first_block.size() == 3);
}

TEST_CASE("synthetic_rows: no context is longer than allowed") {
  const auto rows = load(
      "requests = 2000\nturns = 50\ninput = \"lognormal:400,2\"\noutput = 100\ncontext-max = 2000\n"
      "prefix-groups = 2\nprefix-tokens = 1990");
  std::size_t longest = 0;
  for (const TraceRow& row : rows) {
    CHECK(row.request.input_tokens >= 1);
    CHECK(row.request.output_tokens >= 1);
    longest = std::max<std::size_t>(longest, row.request.input_tokens + row.request.output_tokens);
  }
  CHECK(longest == 2000);
}

TEST_CASE("synthetic_rows: pairs of lengths from a trace stay together") {
  const auto rows = load("requests = 200\nlengths = \"tests/data/traces/lengths.csv\"");
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const TraceRow& row : rows) {
    pairs.emplace(row.request.input_tokens, row.request.output_tokens);
  }
  CHECK(pairs == std::set<std::pair<std::uint32_t, std::uint32_t>>{{3772, 54}, {2015, 156}, {17, 1}});
}

TEST_CASE("synthetic_rows: the same seed gives the same load, and another another") {
  const std::string text = "requests = 50\nturns = 3\ninput = \"lognormal:400,2\"\nseed = ";
  const auto one = load(text + "1");
  const auto same = load(text + "1");
  const auto other = load(text + "2");
  int equal = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].request.input_tokens == same[i].request.input_tokens);
    CHECK(one[i].request.arrival == same[i].request.arrival);
    equal += one[i].request.input_tokens == other[i].request.input_tokens ? 1 : 0;
  }
  CHECK(equal < 10);
}

TEST_CASE("parse_synthetic: what makes no sense is refused with its line and key") {
  CHECK(refusal_of("requests = 0") == "l.toml:1: requests: '0': a whole number from 1 to 10000000000 is wanted");
  CHECK(refusal_of("\ninput = \"lognormal:5\"").starts_with("l.toml:2: input: 'lognormal:5': a number, "));
  CHECK(refusal_of("requets = 5").starts_with("l.toml:1: requets: unknown setting; known are requests, "));
  CHECK(refusal_of("turns = [1]") == "l.toml:1: turns: a word or a number is wanted");
  CHECK(refusal_of("turns = ").starts_with("l.toml:1: "));
  CHECK(refusal_of("think = \"3s\"") == "l.toml: think has no effect in conversations of one turn (turns)");
  CHECK(refusal_of("prefix-zipf = 1") == "l.toml: prefix-zipf has no effect without prefix-groups");
  CHECK(refusal_of("lengths = \"x\"\noutput = 3") == "l.toml: output has no effect beside lengths, which gives both");
  CHECK(refusal_of("block-tokens = 32").starts_with("l.toml: block-tokens has no effect where nothing is shared"));
  CHECK(refusal([] { read_synthetic("no/such.toml"); }) == "no/such.toml: cannot be read: No such file or directory");
}

TEST_CASE("synthetic_settings: each has a text that it takes itself") {
  for (const SyntheticSetting& setting : synthetic_settings()) {
    SyntheticSpec spec;
    const std::string text = setting.text(spec);
    if (!text.empty()) {
      set_synthetic(spec, setting.name, text, "here");
      CHECK(setting.text(spec) == text);
    }
  }
}

}  // namespace
