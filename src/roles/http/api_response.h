// Answers of the two generation endpoints as JSON text: whole ones, and the chunks of a stream.
//
//   completion:  {"id","object":"text_completion","created","model","choices":[{"index","text","logprobs",
//                 "finish_reason","stop_reason"}],"usage"}
//   chat:        "object":"chat.completion", choices with "message"; chunks are "chat.completion.chunk" with "delta"
//
// A writer belongs to one request. It is pure: the same parts give the same text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/text/sampling.h"
#include "model/text/tokenizer.h"
#include "roles/generation.h"

namespace baton {

class JsonWriter;

enum class AnswerKind : std::uint8_t { completion, chat };

// What all parts of one answer have in common.
struct AnswerHead {
  AnswerKind kind = AnswerKind::completion;
  std::string id;            // "cmpl-..." or "chatcmpl-..."
  std::int64_t created = 0;  // Unix seconds
  std::string model;
  bool logprobs = false;          // the request asked for them
  bool return_token_ids = false;  // choices carry token_ids and, once, prompt_token_ids
  bool return_timeline = false;   // finished choices carry a timeline
};

// A choice, or what one chunk adds to it.
struct ChoicePart {
  std::uint32_t index = 0;
  std::string text;
  std::vector<SampledToken> tokens;  // those whose text this is
  bool first = false;                // the first chunk of this choice: a chat's delta carries the role
  std::size_t text_offset = 0;       // characters of this choice before this part, for completion log-probabilities
  const std::vector<TokenId>* prompt = nullptr;  // given where prompt_token_ids are due; outlives the part
  const FinishEvent* finish = nullptr;           // given with the last part; its reason is not failure
};

class AnswerWriter final {
 public:
  // The tokenizer outlives the writer.
  AnswerWriter(AnswerHead head, const Tokenizer& tokenizer);

  // One chunk of a stream: always exactly one choice. `usage` where the client asked for it on every chunk.
  std::string chunk(const ChoicePart& part, const Usage* usage = nullptr) const;
  // The chunk without choices that ends a stream whose client asked for usage.
  std::string usage_chunk(const Usage& usage) const;
  // The whole answer; every part is finished.
  std::string whole(std::span<const ChoicePart> choices, const Usage& usage) const;

  // Characters (code points) the tokens stand for, as text_offset counts them.
  std::size_t characters(std::span<const SampledToken> tokens) const;

 private:
  void append_head(JsonWriter& json, const char* object) const;
  void append_choice(JsonWriter& json, const ChoicePart& part, bool streamed) const;
  void append_text(JsonWriter& json, const ChoicePart& part, bool streamed) const;
  void append_logprobs(JsonWriter& json, const ChoicePart& part, bool streamed) const;
  void append_ids(JsonWriter& json, const ChoicePart& part) const;
  void append_finish(JsonWriter& json, const FinishEvent* finish) const;

  AnswerHead head_;
  const Tokenizer& tokenizer_;
};

// {"prompt_tokens","completion_tokens","total_tokens","prompt_tokens_details":{"cached_tokens"}}
void append_usage(JsonWriter& json, const Usage& usage);

// baton's extension for requests with "return_timeline": true. Times are seconds; the stages sum to total.
//   {"total","first_token","stages":{"route":...},"prefill":"prefill/0","decode":"decode/0","chunks","pages",
//    "moved_bytes","retractions"}
void append_timeline(JsonWriter& json, const Timeline& timeline);

}  // namespace baton
