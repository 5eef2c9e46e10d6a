// The request log: every record comes back as it was, bad files are told where they are wrong, and a generator that is
// logged says of each request once how it ended.
#include "roles/request_log.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "roles/request_log_generator.h"
#include "roles/request_log_reader.h"
#include "roles/request_log_text.h"
#include "runtime/random.h"
#include "tests/support/toy_world.h"

using namespace baton;
using namespace baton::test;

namespace {

// A file name of this test, gone at the end.
class TemporaryFile final {
 public:
  explicit TemporaryFile(const std::string& suffix)
      : path_(std::filesystem::temp_directory_path() /
              ("baton_request_log_" + std::to_string(::getpid()) + "_" + std::to_string(++count_) + suffix)) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

bool same(const RequestRecord& a, const RequestRecord& b) {
  bool stages = true;
  for (std::size_t i = 0; i < kStageCount; ++i) {
    stages = stages && same_bits(a.stages_ms[i], b.stages_ms[i]);
  }
  return stages && a.id == b.id && same_bits(a.arrival_s, b.arrival_s) && a.prompt_tokens == b.prompt_tokens &&
         a.cached_tokens == b.cached_tokens && a.output_tokens == b.output_tokens && a.reason == b.reason &&
         a.error == b.error && a.error_origin == b.error_origin && same_bits(a.ttft_ms, b.ttft_ms) &&
         same_bits(a.tpot_ms, b.tpot_ms) && same_bits(a.itl_max_ms, b.itl_max_ms) && same_bits(a.e2e_ms, b.e2e_ms) &&
         a.prefill == b.prefill && a.decode == b.decode && a.chunks == b.chunks && a.pages == b.pages &&
         a.moved_bytes == b.moved_bytes && a.retractions == b.retractions;
}

std::string random_text(Random& random) {
  static const std::string letters = "ab,\"\n\r\\\t\x01{}:'\xC3\xA9 ;";
  std::string text;
  for (std::uint64_t i = random.uniform(12); i > 0; --i) {
    text += letters[random.uniform(letters.size())];
  }
  return text;
}

double random_time(Random& random) {
  return std::ldexp(random.unit(), static_cast<int>(random.uniform(60)) - 30);
}

RequestRecord random_record(Random& random) {
  RequestRecord record;
  record.id = random_text(random);
  record.arrival_s = random_time(random);
  record.prompt_tokens = static_cast<std::uint32_t>(random.uniform(1U << 20));
  record.cached_tokens = record.prompt_tokens / 2;
  record.output_tokens = static_cast<std::uint32_t>(random.next());
  record.reason = static_cast<FinishReason>(random.uniform(3));
  if (!record.ok()) {
    record.error = static_cast<Errc>(1 + random.uniform(12));
    record.error_origin = random_text(random);
  }
  record.ttft_ms = random.chance(0.2) ? kNoTime : random_time(random);
  record.tpot_ms = random.chance(0.2) ? kNoTime : random_time(random);
  record.itl_max_ms = random.chance(0.2) ? kNoTime : random_time(random);
  record.e2e_ms = random_time(random);
  for (double& stage : record.stages_ms) {
    stage = random_time(random);
  }
  if (random.chance(0.8)) {
    record.prefill = RankId{Role::prefill, static_cast<std::uint32_t>(random.next())};
    record.decode = RankId{Role::aggregated, 3};
  }
  record.chunks = static_cast<std::uint32_t>(random.uniform(9));
  record.pages = static_cast<std::uint32_t>(random.uniform(9000));
  record.moved_bytes = random.next();
  record.retractions = static_cast<std::uint32_t>(random.uniform(3));
  return record;
}

std::string fault_of(const std::string& suffix, const std::string& text) {
  const TemporaryFile file(suffix);
  file.write(text);
  try {
    read_request_log(file.path());
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::bad_file);
    const std::string message = error.what();
    REQUIRE(message.starts_with(file.path()));
    return message.substr(file.path().size());
  }
  return "";
}

std::string good_line(RequestLogFormat format) {
  RequestRecord record;
  record.id = "a";
  record.reason = FinishReason::stop;
  std::string line;
  append_request(line, record, format);
  return line;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t place = text.find(what);
  REQUIRE(place != std::string::npos);
  return text.replace(place, what.size(), by);
}

}  // namespace

TEST_CASE("RequestLog: what is written comes back bit by bit, as CSV and as JSONL, whatever the texts hold") {
  for (const char* suffix : {".csv", ".jsonl"}) {
    CAPTURE(suffix);
    const TemporaryFile file(suffix);
    Random random(11);
    std::vector<RequestRecord> records;
    RequestLog log(file.path());
    for (int i = 0; i < 3000; ++i) {
      records.push_back(random_record(random));
      log.write(records.back());
    }
    log.close();
    CHECK(log.records() == 3000);
    const std::vector<RequestRecord> back = read_request_log(file.path());
    REQUIRE(back.size() == records.size());
    for (std::size_t i = 0; i < back.size(); ++i) {
      CAPTURE(i);
      REQUIRE(same(back[i], records[i]));
    }
  }
}

TEST_CASE("RequestLog: much reaches the file at once, without close and without waiting for the second") {
  const TemporaryFile file(".csv");
  RequestLog log(file.path());
  RequestRecord record;
  record.reason = FinishReason::stop;
  record.id.assign(300, 'x');
  for (int i = 0; i < 1000; ++i) {
    log.write(record);
  }
  RealContext context;
  const auto seen = [&]() -> Task<bool> {
    for (int i = 0; i < 10'000 && file.text().size() < 250'000; ++i) {
      co_await sleep_until(context, context.now() + std::chrono::milliseconds(1));
    }
    co_return file.text().size() >= 250'000;
  };
  CHECK(test::run(context, seen()));
}

TEST_CASE("RequestLog: lines may end as on Windows") {
  const TemporaryFile file(".csv");
  std::string header = request_log_header(RequestLogFormat::csv);
  header.insert(header.size() - 1, "\r");
  std::string line = good_line(RequestLogFormat::csv);
  line.insert(line.size() - 1, "\r");
  file.write(header + line);
  CHECK(read_request_log(file.path()).size() == 1);
}

TEST_CASE("RequestLog: a name of another kind and a place that cannot be written are refused") {
  CHECK_THROWS_AS(RequestLog("requests.txt"), Error);
  CHECK_THROWS_AS(RequestLog("/nowhere/requests.csv"), Error);
  CHECK_THROWS_AS(read_request_log("requests.txt"), Error);
  CHECK_THROWS_AS(read_request_log("/nowhere/requests.csv"), Error);
}

TEST_CASE("RequestLog: columns may stand in another order, and others beside them") {
  const TemporaryFile file(".jsonl");
  std::string line = replaced(good_line(RequestLogFormat::jsonl), "{", "{ \"note\" : true , ");
  line = replaced(line, "\"e2e_ms\":0", "\"e2e_ms\": 1.5e3");
  file.write(replaced(line, "\"id\":\"a\"", "\"id\":\"\\u00e9\\ud83d\\ude00\\n\""));
  const auto records = read_request_log(file.path());
  REQUIRE(records.size() == 1);
  CHECK(records[0].e2e_ms == 1500.0);
  CHECK(records[0].id == "\xC3\xA9\xF0\x9F\x98\x80\n");
}

TEST_CASE("RequestLog: a bad CSV file is told its line and column") {
  const std::string header = request_log_header(RequestLogFormat::csv);
  const std::string line = good_line(RequestLogFormat::csv);
  CHECK(fault_of(".csv", "").find(":1: no header") == 0);
  CHECK(fault_of(".csv", replaced(header, "e2e_ms,", "")).find(":1: the header has no column e2e_ms") == 0);
  CHECK(fault_of(".csv", header + line + "a,b\n").find(":3: 2 cells, the header has 26") == 0);
  CHECK(fault_of(".csv", header + replaced(line, "a,0,0", "a,0,-1")).find(":2: column prompt_tokens: '-1'") == 0);
  CHECK(fault_of(".csv", header + replaced(line, "a,0,", "a,nan,")).find(":2: column arrival_s: 'nan'") == 0);
  CHECK(fault_of(".csv", header + replaced(line, "a,0,0", "a,0,")).find(":2: column prompt_tokens: ''") == 0);
  CHECK(fault_of(".csv", header + replaced(line, "stop", "halt")).find(":2: column reason: 'halt'") == 0);
  CHECK(fault_of(".csv", header + replaced(line, "stop", "failure")).find(":2: column error") == 0);
  CHECK(fault_of(".csv", header + replaced(line, "a,", "\"a,")).find("a quote is not closed") != std::string::npos);
}

TEST_CASE("RequestLog: a bad JSONL file is told its line and column") {
  const std::string line = good_line(RequestLogFormat::jsonl);
  CHECK(fault_of(".jsonl", line + "{\"id\": \"b\"\n").find(":2: no flat JSON object, wrong at column 11") == 0);
  CHECK(fault_of(".jsonl", "{}\n").find(":1: no column arrival_s") == 0);
  CHECK(fault_of(".jsonl", "[]\n").find(":1: no flat JSON object") == 0);
  CHECK(fault_of(".jsonl", line + line.substr(0, 40)).find(":2: no flat JSON object") == 0);
  CHECK(
      fault_of(".jsonl", replaced(line, "\"chunks\":0", "\"chunks\":\"0\"")).find(":1: column chunks: not a number") ==
      0);
  CHECK(fault_of(".jsonl", replaced(line, "\"chunks\":0", "\"chunks\":null")).find(":1: column chunks: not a") == 0);
  CHECK(fault_of(".jsonl", replaced(line, "\"chunks\":0", "\"chunks\":[0]")).find(":1: no flat JSON object") == 0);
  CHECK(fault_of(".jsonl", replaced(line, "\"id\":\"a\"", "\"id\":\"\\ud800\"")).find(":1: no flat JSON object") == 0);
}

TEST_CASE("RequestLog: no line of random bytes, or of one that was spoilt, does worse than being refused") {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string line = good_line(random.chance(0.5) ? RequestLogFormat::jsonl : RequestLogFormat::csv);
    for (std::uint64_t spoilt = random.uniform(6); spoilt > 0; --spoilt) {
      line[random.uniform(line.size())] = static_cast<char>(random.uniform(256));
    }
    line.resize(random.uniform(line.size()) + 1);
    std::vector<JsonMember> members;
    std::vector<std::string> cells;
    split_json(line, members);
    split_csv(line, cells);
    CHECK(cells.size() <= line.size() + 1);
  }
}

TEST_CASE("LoggedGenerator: every request gets one line, with what became of it") {
  const TemporaryFile file(".jsonl");
  ToyWorld world(small_node());
  RequestLog log(file.path());
  LoggedGenerator generator(world.context, world.node->router(), log);
  std::vector<Outcome> outcomes(2);
  const auto client = [&]() -> Task<> {
    co_await sleep_until(world.context, TimePoint(std::chrono::milliseconds(500)));
    GenerationRequest served = world.request(40, 7);
    served.client_id = "first";
    outcomes[0] = co_await world.collect(generator.start(std::move(served)));
    GenerationRequest refused = world.request(4000, 4000);
    refused.client_id = "too long";
    outcomes[1] = co_await world.collect(generator.start(std::move(refused)));
    GenerationRequest dropped = world.request(40, 700);
    dropped.client_id = "dropped";
    auto generation = generator.start(std::move(dropped));
    const auto first = co_await generation->next();
    CHECK(std::holds_alternative<TokenEvent>(*first));
  };
  world.run(client());
  log.close();
  const std::vector<RequestRecord> records = read_request_log(file.path());
  REQUIRE(records.size() == 3);
  const RequestRecord& served = records[0];
  CHECK(served.id == "first");
  CHECK(served.reason == FinishReason::length);
  CHECK(served.arrival_s == 0.5);
  CHECK(served.prompt_tokens == 40);
  CHECK(served.output_tokens == 7);
  CHECK(served.prefill == RankId{Role::prefill, 0});
  CHECK(served.decode == RankId{Role::decode, 0});
  CHECK(served.ttft_ms == milliseconds_of(outcomes[0].first_token - TimePoint(std::chrono::milliseconds(500))));
  CHECK(served.e2e_ms == milliseconds_of(outcomes[0].ended - TimePoint(std::chrono::milliseconds(500))));
  CHECK(served.tpot_ms == doctest::Approx((served.e2e_ms - served.ttft_ms) / 6));
  CHECK(served.itl_max_ms >= served.tpot_ms * 0.99);
  CHECK(served.stage_ms(Stage::prefill) > 0.0);
  CHECK(records[1].error == Errc::too_large);
  CHECK(std::isnan(records[1].ttft_ms));
  CHECK(records[2].error == Errc::aborted);
  CHECK(records[2].error_origin == "client");
  CHECK(records[2].output_tokens == 1);
  CHECK(std::isnan(records[2].tpot_ms));
}
