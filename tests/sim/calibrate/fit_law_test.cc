#include "sim/calibrate/fit_law.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "runtime/errors.h"
#include "runtime/random.h"
#include "sim/calibrate/calibrated_cluster.h"
#include "sim/cluster/cluster_spec.h"

namespace baton::sim {
namespace {

StepLaw some_law() {
  StepLaw law;
  law.prefill = {2, 0.4, 1e-4};
  law.decode_small = {3, 0.002, 0.5};
  law.decode_large = {1, 0.002, 0.9};
  law.decode_split = 9;
  return law;
}

// Steps as the law says, with as much noise.
StepLog draw_log(const StepLaw& law, double noise, std::size_t steps) {
  Random random(1);
  const auto model = make_law_model(law, 1);
  StepLog log;
  double at = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    LoggedStep step;
    step.rank = {Role::aggregated, 0};
    if (random.chance(0.3)) {
      step.load.add_prefill(1 + static_cast<std::uint32_t>(random.uniform(256)), random.uniform(1000), true);
    }
    const std::uint64_t sequences = random.uniform(20) + (step.load.empty() ? 1 : 0);
    for (std::uint64_t j = 0; j < sequences; ++j) {
      step.load.add_decode(1 + static_cast<std::uint32_t>(random.uniform(2000)));
    }
    step.begin_s = at;
    step.seconds = seconds(model->cost(step.load).total) * (1 + noise * (random.unit() - 0.5));
    at += step.seconds + 1;  // idle in between
    log.steps.push_back(step);
  }
  return log;
}

// A file that goes when the test ends.
struct TempFile {
  std::string path = (std::filesystem::temp_directory_path() / fmt::format("baton-steps-{}.csv", getpid())).string();
  ~TempFile() { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
};

}  // namespace

TEST_CASE("fit_laws: finds the law that made the steps, its split included") {
  const LawFit fit = fit_laws(draw_log(some_law(), 0, 4000)).at(Role::aggregated);
  CHECK(fit.error < 0.002);
  CHECK(fit.held_out_error < 0.002);
  CHECK(fit.law.decode_split == 9);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(fit.law.prefill[i] == doctest::Approx(some_law().prefill[i]).epsilon(0.02));
    CHECK(fit.law.decode_small[i] == doctest::Approx(some_law().decode_small[i]).epsilon(0.05));
  }
}

TEST_CASE("fit_laws: noise of 20 % leaves the sum of all steps within 1 %, and is what it says is off") {
  const LawFit fit = fit_laws(draw_log(some_law(), 0.4, 4000)).at(Role::aggregated);
  CHECK(fit.total_ratio == doctest::Approx(1).epsilon(0.01));
  CHECK(fit.held_out_error == doctest::Approx(0.1).epsilon(0.15));
}

// As on a machine that others use too.
TEST_CASE("fit_laws: steps that are held up count for as much as others") {
  StepLog log = draw_log(some_law(), 0.1, 8000);
  Random random(2);
  for (LoggedStep& step : log.steps) {
    step.seconds *= random.chance(0.1) ? 3 : 1;
  }
  const auto model = make_law_model(fit_laws(log).at(Role::aggregated).law, 1);
  double predicted = 0;
  double measured = 0;
  for (const LoggedStep& step : log.steps) {
    predicted += seconds(model->cost(step.load).total);
    measured += step.seconds;
  }
  CHECK(predicted == doctest::Approx(measured).epsilon(0.015));
}

TEST_CASE("fit_laws: what a busy rank does between two steps counts") {
  StepLog log = draw_log(some_law(), 0, 500);
  double at = 0;
  for (LoggedStep& step : log.steps) {
    step.begin_s = at;
    at += step.seconds + 0.001;
  }
  const LawFit fit = fit_laws(log).at(Role::aggregated);
  CHECK(fit.law.decode_small[0] > 3.5);
}

TEST_CASE("fit_laws: refuses a log that is too short") {
  CHECK_THROWS_AS(fit_laws(draw_log(some_law(), 0, 20)), Error);
  CHECK_THROWS_AS(fit_laws(StepLog()), Error);
}

TEST_CASE("step log: what is written is read, settings included, and its cluster is one") {
  const TempFile file;
  StepLog log = draw_log(some_law(), 0.1, 200);
  const std::map<std::string, std::string> settings = {
      {"mode", "aggregated"}, {"prefill", "0"},  {"decode", "1"},      {"page_tokens", "16"},    {"kv_tokens", "40000"},
      {"chunk", "256"},       {"running", "64"}, {"lookahead", "128"}, {"prefix_cache", "false"}};
  {
    StepLogWriter writer(file.path, settings);
    for (const LoggedStep& step : log.steps) {
      writer.write(step);
    }
  }
  const StepLog read = read_step_log(file.path);
  CHECK(read.settings == settings);
  REQUIRE(read.steps.size() == log.steps.size());
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    CHECK(read.steps[i].load.decode_context == log.steps[i].load.decode_context);
    CHECK(read.steps[i].load.prefill_pairs == log.steps[i].load.prefill_pairs);
    CHECK(read.steps[i].seconds == doctest::Approx(log.steps[i].seconds).epsilon(1e-6));
  }
  const ClusterSpec spec = parse_cluster(calibrated_cluster(read, fit_laws(read)), "calibrated");
  CHECK(spec.aggregated());
  CHECK(spec.decode.kv_tokens == 40000);
  CHECK(spec.decode.limits.step_tokens == 256);
}

TEST_CASE("step log: a bad line is named") {
  const TempFile file;
  const std::string header =
      "rank,begin_s,seconds,prefill_sequences,prefill_tokens,prefill_pairs,prefill_context,decode_sequences,"
      "decode_context,decode_tokens,decode_context_max,sampled\n";
  const auto message = [&file] {
    try {
      read_step_log(file.path);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  file.write("# mode = pd\n" + header + "decode/0,0,0.1,0,0,0,0,1,5,1,5,one\n");
  CHECK(message().find(":3") != std::string::npos);
  CHECK(message().find("sampled") != std::string::npos);
  file.write(header + "nobody,0,0.1,0,0,0,0,1,5,1,5,1\n");
  CHECK(message().find("nobody") != std::string::npos);
  CHECK_THROWS_AS(read_step_log(file.path + ".not"), Error);
}

}  // namespace baton::sim
