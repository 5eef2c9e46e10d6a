// The formats of request traces that baton reads, and which of them a file has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/row_fields.h"

namespace baton::sim {

enum class TraceFormat : std::uint8_t {
  mooncake,       // JSONL: timestamp ms, input_length, output_length, hash_ids of 512 tokens; session_id, delay_ms
  azure,          // CSV: TIMESTAMP, ContextTokens, GeneratedTokens
  burstgpt,       // CSV: Timestamp s, Request tokens, Response tokens, ..., perhaps Session ID
  vidur,          // CSV: arrived_at s, num_prefill_tokens, num_decode_tokens
  splitwise,      // CSV: request_id, ..., arrival_timestamp s, batch_size, prompt_size, token_size
  distserve,      // JSON list or JSONL: start_time s, prompt_len, output_len
  rtp_llm,        // JSONL: ts ms, il, ol, bh of 1,024 tokens, priority
  bailian,        // JSONL: chat_id, parent_chat_id, timestamp s, input_length, output_length, turn, hash_ids of 16
  llmservingsim,  // JSONL: arrival_time_ns, input_toks, output_toks, input_tok_ids, or sub_requests
  vllm_bench,     // JSONL: request_id, arrival_ns, input_length, output_length, hash_ids16 over prompt and output
  lengths,        // CSV: num_prefill_tokens, num_decode_tokens; arrivals come from elsewhere
  servegen,       // CSV: category, window_start_s, rate_rps, ...: rates by time, from which requests are drawn
};

struct FormatText {
  TraceFormat format;
  const char* name;  // as a user writes it
  const char* what;  // whose it is and what is in it, in one line
};

const std::vector<FormatText>& trace_formats();
const char* to_string(TraceFormat format) noexcept;
std::optional<TraceFormat> find_trace_format(std::string_view name);

// The format of a file, from its first line that is not blank. Throws Error(invalid_argument) that names what is known.
TraceFormat detect_format(const RowPlace& place, std::string_view line);

}  // namespace baton::sim
