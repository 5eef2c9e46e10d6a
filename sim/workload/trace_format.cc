#include "sim/workload/trace_format.h"

#include <algorithm>
#include <cctype>

#include <boost/json/parse.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/workload/csv_row.h"

namespace baton::sim {
namespace {

// What a file must have to be of a format; the first that fits is it, so the one that asks for more stands first.
struct Signature {
  TraceFormat format;
  std::vector<std::string_view> names;
};

const std::vector<Signature>& csv_signatures() {
  static const std::vector<Signature> all{
      {TraceFormat::azure, {"timestamp", "contexttokens", "generatedtokens"}},
      {TraceFormat::burstgpt, {"timestamp", "request tokens", "response tokens"}},
      {TraceFormat::vidur, {"arrived_at", "num_prefill_tokens", "num_decode_tokens"}},
      {TraceFormat::splitwise, {"arrival_timestamp", "prompt_size", "token_size"}},
      {TraceFormat::lengths, {"num_prefill_tokens", "num_decode_tokens"}},
      {TraceFormat::servegen, {"category", "window_start_s", "rate_rps"}},
  };
  return all;
}

const std::vector<Signature>& json_signatures() {
  static const std::vector<Signature> all{
      {TraceFormat::vllm_bench, {"arrival_ns", "input_length", "output_length"}},
      {TraceFormat::bailian, {"chat_id", "timestamp", "input_length", "output_length"}},
      {TraceFormat::rtp_llm, {"ts", "il", "ol"}},
      {TraceFormat::distserve, {"start_time", "prompt_len", "output_len"}},
      {TraceFormat::llmservingsim, {"arrival_time_ns", "sub_requests"}},
      {TraceFormat::llmservingsim, {"arrival_time_ns", "input_toks", "output_toks"}},
      {TraceFormat::mooncake, {"input_length", "output_length"}},
  };
  return all;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return small;
}

[[noreturn]] void refuse(const RowPlace& place, std::string_view line, std::string_view why) {
  std::vector<std::string_view> names;
  for (const FormatText& text : trace_formats()) {
    names.emplace_back(text.name);
  }
  refuse_field(place, "format", line, fmt::format("{}; known are {}", why, fmt::join(names, ", ")));
}

TraceFormat detect_json(const RowPlace& place, std::string_view line) {
  boost::json::error_code error;
  const boost::json::value row = boost::json::parse(line, error);
  if (error || !row.is_object()) {
    refuse(place, line, "the first line is no JSON object");
  }
  for (const Signature& signature : json_signatures()) {
    const auto has = [&row](std::string_view name) { return row.get_object().contains(name); };
    if (std::ranges::all_of(signature.names, has)) {
      return signature.format;
    }
  }
  refuse(place, line, "the fields of this row belong to no format");
}

TraceFormat detect_csv(const RowPlace& place, std::string_view line) {
  CsvRow row;
  std::vector<std::string> names;
  if (row.split(line)) {
    std::ranges::transform(row.fields(), std::back_inserter(names), lower);
  }
  for (const Signature& signature : csv_signatures()) {
    const auto has = [&names](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
    if (std::ranges::all_of(signature.names, has)) {
      return signature.format;
    }
  }
  refuse(place, line, "these columns belong to no format");
}

}  // namespace

const std::vector<FormatText>& trace_formats() {
  static const std::vector<FormatText> all{
      {TraceFormat::mooncake, "mooncake", "JSONL with hash blocks of 512 tokens; also Dynamo's sessions and delays"},
      {TraceFormat::azure, "azure", "CSV of Azure's LLM inference traces of 2023 and 2024"},
      {TraceFormat::burstgpt, "burstgpt", "CSV of BurstGPT, with or without sessions"},
      {TraceFormat::vidur, "vidur", "CSV with arrived_at in seconds, as Vidur reads it"},
      {TraceFormat::splitwise, "splitwise", "CSV of splitwise-sim"},
      {TraceFormat::distserve, "distserve", "JSON list or JSONL with start_time, prompt_len, output_len"},
      {TraceFormat::rtp_llm, "rtp-llm", "JSONL of RTP-LLM's online replay, with priorities"},
      {TraceFormat::bailian, "bailian", "JSONL of Qwen-Bailian, with hash blocks of 16 tokens and chats"},
      {TraceFormat::llmservingsim, "llmservingsim", "JSONL of LLMServingSim, requests or sessions"},
      {TraceFormat::vllm_bench, "vllm-bench", "JSONL with arrival_ns and hash_ids16 over prompt and output"},
      {TraceFormat::lengths, "lengths", "CSV of lengths alone; give it arrivals"},
      {TraceFormat::servegen, "servegen", "CSV of ServeGen's rates by time; give it a category"},
  };
  return all;
}

const char* to_string(TraceFormat format) noexcept {
  return trace_formats()[static_cast<std::size_t>(format)].name;
}

std::optional<TraceFormat> find_trace_format(std::string_view name) {
  for (const FormatText& text : trace_formats()) {
    if (name == text.name) {
      return text.format;
    }
  }
  return std::nullopt;
}

TraceFormat detect_format(const RowPlace& place, std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
  if (line.substr(first).starts_with('[')) {
    return TraceFormat::distserve;
  }
  return line.substr(first).starts_with('{') ? detect_json(place, line) : detect_csv(place, line);
}

}  // namespace baton::sim
