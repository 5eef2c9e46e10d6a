#include "sim/workload/trace_reader.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/workload/page_keys.h"
#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TraceFormat format_of(std::string_view text) {
  return TraceReader(input_of_text(text, "t"), {}).format();
}

TEST_CASE("TraceReader: Mooncake's JSONL") {
  const std::string text =
      "{\"timestamp\": 0, \"input_length\": 1025, \"output_length\": 5, \"hash_ids\": [3, 4, 5]}\n"
      "\n"
      "{\"timestamp\": 3052, \"input_length\": 1, \"output_length\": 0, \"hash_ids\": []}";
  CHECK(format_of(text) == TraceFormat::mooncake);
  const auto rows = rows_of_text(text);
  REQUIRE(rows.size() == 2);
  const TraceRequest& first = rows[0].request;
  CHECK(first.input_tokens == 1025);
  CHECK(first.output_tokens == 5);
  CHECK(first.block_tokens == 512);
  CHECK(first.blocks == std::vector<std::uint64_t>{3, 4, 5});
  CHECK(first.session == 0);
  CHECK(rows[1].request.arrival == 3052ms);
}

TEST_CASE("TraceReader: Dynamo's sessions follow their turn before, after a delay") {
  const auto rows = rows_of_text(R"({"session_id": "a", "timestamp": 10, "input_length": 5, "output_length": 5})"
                                 "\n"
                                 R"({"session_id": "a", "delay_ms": 250, "input_length": 9, "output_length": 5})"
                                 "\n"
                                 R"({"session_id": "b", "timestamp": 20, "input_length": 5, "output_length": 5})");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].request.session == rows[1].request.session);
  CHECK(rows[0].request.session != rows[2].request.session);
  CHECK(!rows[0].follows);
  CHECK(rows[1].follows);
  CHECK(rows[1].request.think == 250ms);
  CHECK(rows[1].request.turn == 1);
  CHECK(rows[2].request.turn == 0);
  CHECK(refusal_of_text(R"({"session_id": "a", "delay_ms": 250, "input_length": 9, "output_length": 5})") ==
        "t:1: delay_ms: '250': there is no earlier row of its session to wait for, and no timestamp");
}

TEST_CASE("TraceReader: Azure's CSV counts from its first row") {
  const std::string text =
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n"
      "2023-11-16 18:15:50.9951690,396,109";
  CHECK(format_of(text) == TraceFormat::azure);
  const auto rows = rows_of_text(text);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].request.arrival == 0ns);
  CHECK(rows[1].request.arrival == 4'314'579'000ns);
  CHECK(rows[1].request.input_tokens == 396);
  CHECK(rows[1].request.output_tokens == 109);
  CHECK(rows[1].request.block_tokens == 0);
}

TEST_CASE("TraceReader: BurstGPT's CSV with and without sessions, failures kept") {
  const std::string plain =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,10,0,10,API log\n";
  CHECK(format_of(plain) == TraceFormat::burstgpt);
  auto rows = rows_of_text(plain);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].request.arrival == 5s);
  CHECK(rows[1].request.output_tokens == 0);
  rows = rows_of_text(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,7,1.2,ChatGPT,472,18,490,Conversation log\n6,,0.1,\"GPT-4, new\",10,1,11,API log\n");
  CHECK(rows[0].request.session == id_of("7"));
  CHECK(rows[1].request.session == 0);
}

TEST_CASE("TraceReader: Vidur's, splitwise-sim's and lengths alone") {
  auto rows = rows_of_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0.25,10,2\n");
  CHECK(rows[0].request.arrival == 250ms);
  const std::string splitwise =
      "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
      "17,2,0,1.5,1,100,20\n";
  CHECK(format_of(splitwise) == TraceFormat::splitwise);
  rows = rows_of_text(splitwise);
  CHECK(rows[0].request.id == "17");
  CHECK(rows[0].request.arrival == 1500ms);
  CHECK(rows[0].request.input_tokens == 100);
  CHECK(rows[0].request.output_tokens == 20);
  const std::string lengths = "num_prefill_tokens,num_decode_tokens\n3772,54\n2015,156\n";
  CHECK(format_of(lengths) == TraceFormat::lengths);
  CHECK(rows_of_text(lengths).size() == 2);
}

TEST_CASE("TraceReader: DistServe's, as a list over lines and as lines") {
  const std::string list =
      "[\n  {\"start_time\": 100.5, \"prompt_len\": 7,\n   \"output_len\": 3, \"note\": \"]}\\\"\"},\n"
      "  {\"start_time\": 101.0, \"prompt_len\": 8, \"output_len\": 4}\n]\n";
  CHECK(format_of(list) == TraceFormat::distserve);
  const auto rows = rows_of_text(list);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].request.arrival == 0ns);
  CHECK(rows[1].request.arrival == 500ms);
  CHECK(rows[1].request.input_tokens == 8);
  CHECK(rows_of_text("{\"start_time\": 1, \"prompt_len\": 8, \"output_len\": 4}").size() == 1);
  CHECK(refusal_of_text("[{\"start_time\": 1, \"prompt_len\": 8, \"output_len\": 4}") ==
        "t:1: the list does not close before the file ends");
  CHECK(refusal_of_text("[]") == "t: no requests in it");
  CHECK(refusal_of_text("[1]") == "t:1: list: '1': a list of JSON objects is wanted");
  CHECK(refusal_of_text("[{}, ]").starts_with("t:1: prompt_len is missing"));
  CHECK(refusal_of_text("[\n{\"start_time\": 1, \"prompt_len\": 8, \"output_len\": 4}, ]") ==
        "t:2: list: ']': a list of JSON objects is wanted");
}

TEST_CASE("TraceReader: RTP-LLM's, with hashes as words and priorities") {
  const std::string text =
      R"({"ts": 56, "il": 2100, "ol": 0, "cached": 0, "ttfb": 385.8, "pep": "prefill-1", "bh": ["29", "-7"], )"
      R"("shard": 9, "priority": 70})";
  CHECK(format_of(text) == TraceFormat::rtp_llm);
  const auto rows = rows_of_text(text);
  CHECK(rows[0].request.arrival == 56ms);
  CHECK(rows[0].request.priority == 70);
  CHECK(rows[0].request.block_tokens == 1024);
  CHECK(rows[0].request.blocks == std::vector<std::uint64_t>{id_of("29"), id_of("-7")});
}

TEST_CASE("TraceReader: Qwen-Bailian's chats are one session from their first") {
  const std::string text =
      R"({"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 521, "output_length": 132, )"
      R"("type": "text", "turn": 1, "hash_ids": [1, 2]})"
      "\n"
      R"({"chat_id": 160, "parent_chat_id": 159, "timestamp": 62, "input_length": 700, "output_length": 13, )"
      R"("type": "text", "turn": 2, "hash_ids": [1, 2, 3]})"
      "\n"
      R"({"chat_id": 171, "parent_chat_id": 160, "timestamp": 63, "input_length": 800, "output_length": 13, )"
      R"("type": "text", "turn": 3, "hash_ids": [1, 2, 3, 4]})";
  CHECK(format_of(text) == TraceFormat::bailian);
  const auto rows = rows_of_text(text);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].request.arrival == 61'114ms);
  CHECK(rows[0].request.block_tokens == 16);
  CHECK(rows[0].request.session == rows[2].request.session);
  CHECK(rows[2].request.turn == 2);
  CHECK(rows[2].request.id == "171");
  CHECK(!rows[2].follows);
}

TEST_CASE("TraceReader: LLMServingSim's requests share what their token ids share") {
  std::string ids = "0";
  for (int i = 1; i < 40; ++i) {
    ids += "," + std::to_string(i);
  }
  const std::string head = R"({"arrival_time_ns": 5, "input_toks": 40, "output_toks": 2, "input_tok_ids": [)";
  const auto rows = rows_of_text(head + ids + "]}\n" + head + ids + "], \"output_tok_ids\": [7, 8]}\n" + head + "1" +
                                 ids.substr(1) + "]}");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].request.arrival == 5ns);
  CHECK(rows[0].request.blocks.size() == 2);
  CHECK(rows[0].request.blocks == rows[1].request.blocks);
  CHECK(rows[0].request.blocks[0] != rows[2].request.blocks[0]);
  CHECK(rows[0].request.blocks[1] != rows[2].request.blocks[1]);
  CHECK(refusal_of_text(head + "1,2]}") ==
        "t:1: input_tok_ids: a list of 40 token ids is wanted, as many as there are tokens");
}

TEST_CASE("TraceReader: LLMServingSim's sessions are calls that follow, with their tools' time between") {
  const auto rows = rows_of_text(
      R"({"session_id": "s", "arrival_time_ns": 4000, "sub_requests": [)"
      R"({"input_toks": 10, "output_toks": 1, "tool_duration_ns": 77}, {"input_toks": 12, "output_toks": 2}]})");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].request.arrival == 4000ns);
  CHECK(!rows[0].follows);
  CHECK(rows[1].follows);
  CHECK(rows[1].request.think == 77ns);
  CHECK(rows[1].request.turn == 1);
  CHECK(rows[1].request.session == rows[0].request.session);
  CHECK(!refusal_of_text(R"({"arrival_time_ns": 4000, "sub_requests": []})").empty());
  CHECK(!refusal_of_text(R"({"arrival_time_ns": 4000, "sub_requests": [7]})").empty());
}

TEST_CASE("TraceReader: blocks of the output fill up the prompt's last one") {
  const auto rows = rows_of_text(
      R"({"request_id":"bench-0","arrival_ns":46926808,"input_length":20,"output_length":14,"hash_ids16":[1,2,3]})");
  CHECK(rows[0].request.arrival == 46'926'808ns);
  CHECK(rows[0].request.id == "bench-0");
  CHECK(full_block_tokens(rows[0].request) == 32);
}

TEST_CASE("TraceReader: bad rows are refused with line, field and value") {
  const std::string good = "{\"timestamp\": 5, \"input_length\": 7, \"output_length\": 5}\n";
  CHECK(refusal_of_text(good + "{\"timestamp\": 6, \"input_length\": -7, \"output_length\": 5}") ==
        "t:2: input_length: '-7': a whole number from 1 to 16777216 is wanted");
  CHECK(refusal_of_text(good + "{\"timestamp\": 6, \"input_length\": 7}") == "t:2: output_length is missing");
  CHECK(refusal_of_text(good + "{\"timestamp\": 6, ") == "t:2: no JSON at column 18: incomplete JSON");
  CHECK(refusal_of_text(good + "[1]") == "t:2: a JSON object is wanted");
  CHECK(refusal_of_text(good + good.substr(0, good.size() - 1) + " x") == "t:2: more behind the JSON at column 57");
  CHECK(refusal_of_text(good + "{\"timestamp\": 4, \"input_length\": 7, \"output_length\": 5}") ==
        "t:2: comes 0.001 s before the row in line 1; sorting it would help (--sort)");
  CHECK(refusal_of_text("{\"timestamp\": 1.7e12, \"input_length\": 7, \"output_length\": 5}") ==
        "t:1: comes 1.968e+04 days after the start; is this a date? (--rebase)");
  CHECK(refusal_of_text("{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": [1, 2]}") ==
        "t:1: hash_ids: 2 blocks of 512 tokens are too many for 7 tokens; have they another size?");
  CHECK(refusal_of_text("{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": [1.5]}") ==
        "t:1: hash_ids: '1.5E0': a word or a whole number is wanted");
  CHECK(refusal_of_text("arrived_at,num_prefill_tokens,num_decode_tokens\n1,2\n") ==
        "t:2: 2 fields, where the header has 3");
  CHECK(refusal_of_text("arrived_at,num_prefill_tokens,num_decode_tokens\nnan,2,3\n") ==
        "t:2: arrived_at: 'nan': a time that is a number and not negative is wanted");
  CHECK(refusal_of_text("arrived_at,num_prefill_tokens,num_decode_tokens\n\"1,2,3\n") ==
        "t:2: quotes that do not close in this line");
}

TEST_CASE("TraceReader: a file that is empty, has a header alone or is of no known format") {
  CHECK(refusal_of_text("") == "t: an empty file");
  CHECK(refusal_of_text("\n \n") == "t: an empty file");
  CHECK(refusal_of_text("arrived_at,num_prefill_tokens,num_decode_tokens\n") == "t: no requests in it");
  CHECK(refusal_of_text("a,b\n").starts_with("t:1: format: 'a,b': these columns belong to no format; known are "));
  CHECK(refusal_of_text("{\"a\": 1}").find("the fields of this row belong to no format") != std::string::npos);
  CHECK(refusal_of_text("{\"a\": ").find("the first line is no JSON object") != std::string::npos);
  CHECK(refusal_of_text("category,window_start_s,rate_rps\n").find("rates by time") != std::string::npos);
}

TEST_CASE("TraceReader: options say what a file does not") {
  ReadOptions options;
  options.format = TraceFormat::vidur;
  CHECK(refusal_of_text("num_prefill_tokens,num_decode_tokens\n1,2\n", options) ==
        "t:1: the header of a vidur trace has a column 'arrived_at', this one has not");
  options = {};
  options.block_tokens = 4;
  const auto rows =
      rows_of_text("{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": [1, 2]}", options);
  CHECK(rows[0].request.block_tokens == 4);
  options = {};
  options.rebase = true;
  const auto late = rows_of_text("{\"timestamp\": 1.7e12, \"input_length\": 7, \"output_length\": 5}", options);
  CHECK(late[0].request.arrival == 0ns);
  options = {};
  options.any_order = true;
  CHECK(rows_of_text("arrived_at,num_prefill_tokens,num_decode_tokens\n2,1,1\n1,1,1\n", options).size() == 2);
}

}  // namespace
