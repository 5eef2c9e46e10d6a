#include "sim/explorer/script.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/errors.h"
#include "runtime/random.h"
#include "sim/chaos/profile.h"
#include "sim/explorer/script_values.h"

namespace baton::chaos {
namespace {

std::string refusal(const std::string& script) {
  try {
    parse_script(script, "s.toml");
  } catch (const Error& error) {
    CHECK((error.errc() == Errc::invalid_argument || error.errc() == Errc::bad_file));
    return error.what();
  }
  return "";
}

TEST_CASE("script: what is written is read as the same scenario, for drawn ones of all profiles") {
  for (const Profile& profile : profiles()) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
      Scenario scenario = draw_scenario(profile, seed * 0x9e3779b97f4a7c15);
      if (seed % 3 == 0) {
        scenario.only = {std::vector<std::uint64_t>{1, seed, ~std::uint64_t{0}}};
      }
      if (seed % 4 == 0) {
        scenario.script = {{Traffic::leg_failed, 3, 1, Fault::control_overtaken, Duration(1'234)},
                           {Traffic::record, std::nullopt, 0, Fault::record_torn, Duration(0)}};
      }
      const std::string text = script_text(scenario, "seed\n\nof a test");
      const bool same = parse_script(text, "s.toml") == scenario;
      CHECK_MESSAGE(same, text);
    }
  }
}

TEST_CASE("script: an empty one is a fresh scenario, an empty list of keys is not none") {
  CHECK(parse_script("", "s.toml") == Scenario{});
  Scenario scenario;
  scenario.only.emplace();
  CHECK(parse_script(script_text(scenario), "s.toml") == scenario);
}

TEST_CASE("script: times are words or microseconds, clients count from 0 by themselves") {
  const Scenario scenario = parse_script(
      "latency = 150\nheartbeat = \"1.5ms\"\nclients = [{ arrival = \"20us\", patience = \"3ns\" }, {}]\n"
      "control = { lost = 1, delayed = 0.25 }\n"
      "timed = [{ fault = \"partition\", rank = \"prefill/1\", to = \"router/0\", at = 5, length = \"1s\" }]\n",
      "s.toml");
  CHECK(scenario.latency == std::chrono::microseconds(150));
  CHECK(scenario.heartbeat == std::chrono::microseconds(1500));
  REQUIRE(scenario.clients.size() == 2);
  CHECK(scenario.clients[0].arrival == std::chrono::microseconds(20));
  CHECK(scenario.clients[0].patience == Duration(3));
  CHECK(scenario.clients[1].index == 1);
  CHECK(scenario.control.lost == 1);
  REQUIRE(scenario.timed.size() == 1);
  CHECK(scenario.timed[0].to == RankId{Role::router, 0});
}

TEST_CASE("script: what is wrong is named by file, line and key") {
  CHECK(refusal("prefill = 2\nprefil = 1\n").starts_with("s.toml:2: unknown key 'prefil'; known here: aggregated,"));
  CHECK(refusal("clients = [\n  {},\n  { indx = 3 },\n]").starts_with("s.toml:3: unknown key 'indx'"));
  CHECK(refusal("\n\ndecode = 9").starts_with("s.toml:3: decode: a whole number from 1 to 8 is wanted"));
  CHECK(refusal("decode = 1.0").starts_with("s.toml:1: decode: "));
  CHECK(refusal("decode = -1").starts_with("s.toml:1: decode: "));
  CHECK(refusal("seed = -1").starts_with("s.toml:1: seed: "));
  CHECK(refusal("seed = \"0x1ffffffffffffffff\"").starts_with("s.toml:1: seed: "));
  CHECK(refusal("copying = 1").starts_with("s.toml:1: copying: true or false"));
  CHECK(refusal("control = { lost = 1.5 }").starts_with("s.toml:1: lost: a number from 0 to 1"));
  CHECK(refusal("control = { lost = nan }").starts_with("s.toml:1: lost: "));
  CHECK(refusal("control = { lost = \"1\" }").starts_with("s.toml:1: lost: "));
  CHECK(refusal("control = 1").starts_with("s.toml:1: control: a table"));
  CHECK(refusal("only = 1").starts_with("s.toml:1: only: a list"));
  CHECK(refusal("only = [\"x\"]").starts_with("s.toml:1: only: "));
  CHECK(refusal("clients = [3]").starts_with("s.toml:1: clients: a table"));
  for (const char* time : {"\"2h\"", "\"1.5\"", "\"-1s\"", "-1", "\"0.1ns\"", "\"1.s\"", "\"3601s\"", "1.5", "\"\""}) {
    CHECK(refusal(std::string("latency = ") + time).starts_with("s.toml:1: latency: a time"));
  }
  CHECK(refusal("x = ").starts_with("s.toml:1: "));
  CHECK(refusal("seed = 1\nseed = 2").starts_with("s.toml:2: "));
}

TEST_CASE("script: settings that contradict each other are refused") {
  CHECK(refusal("clients = [{ router = 1 }]").starts_with("s.toml:1: router: 1 of 1"));
  CHECK(refusal("clients = [{ index = 4 },\n{ index = 4 }]").starts_with("s.toml:2: index: two clients"));
  CHECK(refusal("clients = [{ time_limit = 0 }]").starts_with("s.toml:1: time_limit: "));
  CHECK(refusal("clients = [{ max_tokens = 2, stop_after = 3 }]").starts_with("s.toml:1: stop_after: "));
  CHECK(refusal("timed = [{ fault = \"crash\", rank = \"prefill/2\" }]").starts_with("s.toml:1: rank: there is no"));
  CHECK(refusal("timed = [{ fault = \"crash\", rank = \"router/0\" }]").starts_with("s.toml:1: rank: a crash is of"));
  CHECK(refusal("timed = [{ fault = \"freeze\", rank = \"router/0\" }]").empty());
  CHECK(refusal("timed = [{ fault = \"freeze\", rank = \"router/1\" }]").starts_with("s.toml:1: rank: there is no"));
  CHECK(
      refusal("aggregated = true\ntimed = [{ fault = \"slow\", rank = \"decode/0\" }]").starts_with("s.toml:2: rank"));
  CHECK(refusal("timed = [{ fault = \"write_late\", rank = \"decode/0\" }]").starts_with("s.toml:1: fault: one of"));
  CHECK(refusal("timed = [{ fault = \"crash\" }]").starts_with("s.toml:1: rank: missing"));
  CHECK(refusal("timed = [{ fault = \"crash\", rank = \"decode\" }]").starts_with("s.toml:1: rank: a rank such as"));
  CHECK(refusal("timed = [{ fault = \"partition\", rank = \"decode/0\" }]").starts_with("s.toml:1: to: missing"));
  CHECK(refusal("timed = [{ fault = \"crash\", rank = \"decode/0\", to = \"decode/1\" }]")
            .starts_with("s.toml:1: unknown key 'to'"));
}

TEST_CASE("script: a message has only faults of its kind") {
  CHECK(refusal("script = [{ traffic = \"job\", fault = \"control_lost\" }]").empty());
  CHECK(refusal("script = [{ traffic = \"record\", fault = \"record_torn\" }]").empty());
  CHECK(refusal("script = [{ traffic = \"write\", fault = \"control_lost\" }]")
            .starts_with("s.toml:1: fault: one of \"write_failed\", "));
  CHECK(refusal("script = [{ traffic = \"answer\", fault = \"record_torn\" }]").starts_with("s.toml:1: fault: one of"));
  CHECK(refusal("script = [{ traffic = \"jobs\" }]").starts_with("s.toml:1: traffic: one of \"job\", "));
  CHECK(refusal("script = [{ fault = \"control_lost\" }]").starts_with("s.toml:1: traffic: missing"));
}

TEST_CASE("script: a file that is not there is said to be so") {
  CHECK_THROWS_WITH(read_script("tests/no-such-script.toml"),
                    "tests/no-such-script.toml: cannot be read: No such file or directory");
}

TEST_CASE("time_text: exact, and read as the same time") {
  CHECK(time_text(Duration(0)) == "0");
  CHECK(time_text(Duration(1)) == "1ns");
  CHECK(time_text(Duration(1'500)) == "1.5us");
  CHECK(time_text(Duration(20'000'000)) == "20ms");
  CHECK(time_text(Duration(1'000'000'000)) == "1s");
  CHECK(time_text(Duration(1'000'000'001)) == "1000000.001us");
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const Duration time(static_cast<std::int64_t>(random.next() >> (1 + random.uniform(62))));
    CHECK(parse_time(time_text(time)) == time);
  }
  CHECK_FALSE(parse_time("99999999999s"));
  CHECK_FALSE(parse_time("1.0000000001s"));
}

}  // namespace
}  // namespace baton::chaos
