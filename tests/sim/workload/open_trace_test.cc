// The way in as a whole, on the traces that come with baton and on small files.
#include "sim/workload/open_trace.h"

#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/workload/page_keys.h"
#include "sim/workload/trace_info.h"
#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;
using std::chrono_literals::operator""s;

constexpr const char* kConversation = "examples/traces/mooncake_conversation.jsonl.gz";
constexpr const char* kLengths = "tests/data/traces/lengths.csv";

TraceInfo info_of(const std::string& path, const TraceOptions& options = {}) {
  return trace_info(*open_rows(path, options));
}

double hits(std::uint64_t tokens, const TraceInfo& info) {
  return 100.0 * static_cast<double>(tokens) / static_cast<double>(info.input.sum);
}

// A file of its own that goes with the test.
class TempFile final {
 public:
  TempFile(std::string name, const std::string& text) : path_(std::move(name)) { std::ofstream(path_) << text; }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_CASE("open_trace: Mooncake's conversation trace is what its publishers say") {
  const TraceInfo info = info_of(kConversation);
  CHECK(info.requests == 12'031);
  CHECK(info.failed == 0);
  CHECK(seconds(info.end) == doctest::Approx(3536.999));
  CHECK(info.rate == doctest::Approx(3.40).epsilon(0.001));
  CHECK(info.gap_cv == doctest::Approx(3.03).epsilon(0.005));
  CHECK(info.zero_gaps == doctest::Approx(0.90).epsilon(0.005));
  CHECK(info.is_coarse());
  CHECK(info.stamp_distance == 3s);
  CHECK(info.input.mean == doctest::Approx(12'035).epsilon(0.0001));
  CHECK(info.input.p50 == 6'909);
  CHECK(info.input.p90 == 27'367);
  CHECK(info.input.p99 == 85'401);
  CHECK(info.input.max == 126'195);
  CHECK(info.output.mean == doctest::Approx(343).epsilon(0.002));
  CHECK(info.output.p90 == 597);
  CHECK(info.output.p99 == 1'120);
  CHECK(info.output.max == 2'000);
  CHECK(info.blocks == 182'790);
  CHECK(info.block_tokens == 512);
  // 37.4 % where partial blocks count, which are no pages that anybody could share.
  CHECK(hits(info.hit_tokens, info) == doctest::Approx(37.34).epsilon(0.0003));
  CHECK(hits(info.hit_tokens_open, info) == doctest::Approx(37.36).epsilon(0.0003));
}

TEST_CASE("open_trace: Mooncake's synthetic trace and Azure's of 2023") {
  const TraceInfo synthetic = info_of("examples/traces/mooncake_synthetic.jsonl.gz");
  CHECK(synthetic.requests == 3'993);
  CHECK(synthetic.rate == doctest::Approx(3.91).epsilon(0.001));
  CHECK(synthetic.gap_cv == doctest::Approx(1.01).epsilon(0.005));
  CHECK(synthetic.input.mean == doctest::Approx(15'325).epsilon(0.0001));
  CHECK(synthetic.output.mean == doctest::Approx(149).epsilon(0.005));
  CHECK(hits(synthetic.hit_tokens_open, synthetic) == doctest::Approx(65.1).epsilon(0.001));
  CHECK(!synthetic.is_coarse());
  const TraceInfo azure = info_of("examples/traces/azure_llm_2023_conv.csv.gz");
  CHECK(azure.requests == 19'366);
  CHECK(azure.rate == doctest::Approx(5.53).epsilon(0.001));
  CHECK(azure.gap_cv == doctest::Approx(1.09).epsilon(0.005));
  CHECK(azure.input.mean == doctest::Approx(1'155).epsilon(0.001));
  CHECK(azure.input.p50 == 1'020);
  CHECK(azure.input.p99 == 4'142);
  CHECK(azure.input.max == 14'050);
  CHECK(azure.output.mean == doctest::Approx(211).epsilon(0.002));
  CHECK(azure.block_tokens == 0);
}

TEST_CASE("open_trace: the conversation trace's hits stay when its blocks become pages of 16") {
  const auto rows = open_rows(kConversation, {});
  std::set<std::uint64_t> known;
  std::uint64_t hit_tokens = 0;
  std::uint64_t input = 0;
  TraceInfo info;
  int left = 2000;
  std::vector<TraceRow> same;
  for (auto row = rows->next(); row && left > 0; row = rows->next(), --left) {
    bool is_hit = true;
    for (const std::uint64_t key : prompt_page_keys(row->request, 16)) {
      is_hit = !known.insert(key).second && is_hit;
      hit_tokens += is_hit ? 16 : 0;
    }
    input += row->request.input_tokens;
    same.push_back(std::move(*row));
  }
  FixedRows again(std::move(same));
  info = trace_info(again);
  CHECK(info.input.sum == input);
  CHECK(info.hit_tokens == hit_tokens);
  CHECK(hit_tokens > 0);
}

TEST_CASE("open_trace: spreading takes the bursts out of coarse time stamps") {
  TraceOptions options;
  options.spread = true;
  const TraceInfo info = info_of(kConversation, options);
  CHECK(info.requests == 12'031);
  CHECK(info.zero_gaps == doctest::Approx(0));
  CHECK(info.gap_cv < 0.5);
  CHECK(info.rate == doctest::Approx(3.40).epsilon(0.002));
}

TEST_CASE("open_trace: transforms in their order, and copies of all of it") {
  TraceOptions options;
  options.from = 600s;
  options.to = 1200s;
  options.rate_scale = 2;
  options.caps.input = 4096;
  options.first = 500;
  options.repeat = 4;
  const TraceInfo info = info_of(kConversation, options);
  CHECK(info.requests == 2000);
  CHECK(info.input.max == 4096);
  CHECK(seconds(info.end) < 4 * 300);
  CHECK(info.rate > 5);
}

TEST_CASE("open_trace: requests come as a source, one by one, with bounded memory") {
  TraceOptions options;
  options.repeat = 5;
  const auto source = open_trace("examples/traces/azure_llm_2023_conv.csv.gz", options);
  std::uint64_t count = 0;
  Duration last{};
  while (const auto request = source->next()) {
    CHECK(request->arrival >= last);
    last = request->arrival;
    ++count;
  }
  CHECK(count == 5 * 19'366);
}

TEST_CASE("open_trace: lengths need arrivals, and get them") {
  CHECK(refusal([] { open_rows(kLengths, {}); }) ==
        "tests/data/traces/lengths.csv: lengths without arrivals; give a process (--arrivals poisson:RATE)");
  TraceOptions options;
  options.arrivals = parse_arrivals("constant:2");
  const TraceInfo info = info_of(kLengths, options);
  CHECK(info.requests == 3);
  CHECK(info.end == 1s);
}

TEST_CASE("open_trace: sorting helps a file whose time goes back") {
  const TempFile file("open_trace_test.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n5,1,1\n3,2,1\n4,3,1\n");
  CHECK(refusal([&] { all_rows(open_rows(file.path(), {})); }) ==
        "open_trace_test.csv:3: comes 2 s before the row in line 2; sorting it would help (--sort)");
  TraceOptions options;
  options.sort = true;
  CHECK(all_rows(open_rows(file.path(), options))[0].request.input_tokens == 2);
  options.read.rebase = true;
  CHECK(all_rows(open_rows(file.path(), options))[2].request.arrival == 2s);
}

TEST_CASE("open_trace: a synthetic load in a file, whose seed an option replaces") {
  const TempFile file("open_trace_test.toml", "requests = 40\nturns = 2\nthink = 1\nseed = 5\n");
  const auto same = all_rows(open_rows(file.path(), {}));
  CHECK(same.size() == 40);
  TraceOptions options;
  options.seed = 5;
  CHECK(all_rows(open_rows(file.path(), options))[0].request.arrival == same[0].request.arrival);
  options.seed = 6;
  CHECK(all_rows(open_rows(file.path(), options))[0].request.arrival != same[0].request.arrival);
  options = {};
  options.sort = true;
  CHECK(refusal([&] {
          open_rows(file.path(), options);
        }).ends_with("sorting has no effect on a synthetic load, whose file says it all"));
}

TEST_CASE("open_trace: the example of a synthetic load is one, with turns that wait and prefixes that are shared") {
  const TraceInfo info = info_of("examples/traces/chats.toml");
  CHECK(info.requests == 20'000);
  CHECK(info.rate == doctest::Approx(4).epsilon(0.06));
  CHECK(info.follow > info.requests / 2);
  CHECK(info.input.max < 32'768);
  CHECK(hits(info.hit_tokens, info) > 50);
}

TEST_CASE("open_trace: an option without effect, and a trace of which nothing is left, are errors") {
  TraceOptions options;
  options.category = "x";
  CHECK(
      refusal([&] { open_rows(kConversation, options); }).ends_with("a category has no effect on a trace of requests"));
  options = {};
  options.from = 5000s;
  CHECK(refusal([&] { all_rows(open_rows(kConversation, options)); }) ==
        std::string(kConversation) + ": nothing is left of this trace");
  CHECK(refusal([] { open_rows("no/such.csv", {}); }).ends_with("No such file or directory"));
}

}  // namespace
