#include "roles/http/api_response.h"

#include <utility>

#include "roles/http/json_writer.h"
#include "roles/http/logprobs.h"
#include "runtime/check.h"

namespace baton {
namespace {

const char* reason_name(FinishReason reason) {
  BATON_CHECK(reason != FinishReason::failure);
  return reason == FinishReason::stop ? "stop" : "length";
}

void append_id_list(JsonWriter& json, std::span<const TokenId> ids) {
  json.begin_array();
  for (const TokenId id : ids) {
    json.number(id);
  }
  json.end_array();
}

}  // namespace

AnswerWriter::AnswerWriter(AnswerHead head, const Tokenizer& tokenizer)
    : head_(std::move(head)), tokenizer_(tokenizer) {}

std::string AnswerWriter::chunk(const ChoicePart& part, const Usage* usage) const {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  append_head(json, head_.kind == AnswerKind::chat ? "chat.completion.chunk" : "text_completion");
  if (head_.kind == AnswerKind::chat && part.prompt != nullptr) {
    json.key("prompt_token_ids");
    append_id_list(json, *part.prompt);
  }
  json.key("choices").begin_array();
  append_choice(json, part, true);
  json.end_array();
  if (usage != nullptr) {
    json.key("usage");
    append_usage(json, *usage);
  }
  json.end_object();
  return text;
}

std::string AnswerWriter::usage_chunk(const Usage& usage) const {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  append_head(json, head_.kind == AnswerKind::chat ? "chat.completion.chunk" : "text_completion");
  json.key("choices").begin_array().end_array().key("usage");
  append_usage(json, usage);
  json.end_object();
  return text;
}

std::string AnswerWriter::whole(std::span<const ChoicePart> choices, const Usage& usage) const {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  append_head(json, head_.kind == AnswerKind::chat ? "chat.completion" : "text_completion");
  if (head_.kind == AnswerKind::chat && !choices.empty() && choices.front().prompt != nullptr) {
    json.key("prompt_token_ids");
    append_id_list(json, *choices.front().prompt);
  }
  json.key("choices").begin_array();
  for (const ChoicePart& part : choices) {
    append_choice(json, part, false);
  }
  json.end_array().key("usage");
  append_usage(json, usage);
  json.end_object();
  return text;
}

std::size_t AnswerWriter::characters(std::span<const SampledToken> tokens) const {
  std::size_t count = 0;
  for (const SampledToken& token : tokens) {
    count += count_characters(token_text(tokenizer_, token.id));
  }
  return count;
}

void AnswerWriter::append_head(JsonWriter& json, const char* object) const {
  json.key("id").string(head_.id);
  json.key("object").string(object);
  json.key("created").number(head_.created);
  json.key("model").string(head_.model);
}

void AnswerWriter::append_choice(JsonWriter& json, const ChoicePart& part, bool streamed) const {
  json.begin_object();
  json.key("index").number(part.index);
  append_text(json, part, streamed);
  append_logprobs(json, part, streamed);
  append_finish(json, part.finish);
  append_ids(json, part);
  if (head_.return_timeline && part.finish != nullptr) {
    json.key("timeline");
    append_timeline(json, part.finish->timeline);
  }
  json.end_object();
}

void AnswerWriter::append_text(JsonWriter& json, const ChoicePart& part, bool streamed) const {
  if (head_.kind == AnswerKind::completion) {
    json.key("text").string(part.text);
    return;
  }
  json.key(streamed ? "delta" : "message").begin_object();
  if (!streamed || part.first) {
    json.key("role").string("assistant");
  }
  json.key("content").string(part.text);
  json.end_object();
}

void AnswerWriter::append_logprobs(JsonWriter& json, const ChoicePart& part, bool streamed) const {
  json.key("logprobs");
  // A chunk without tokens (the one that only says why it ended) has nothing to report.
  if (!head_.logprobs || (streamed && part.tokens.empty())) {
    json.null();
  } else if (head_.kind == AnswerKind::chat) {
    append_chat_logprobs(json, tokenizer_, part.tokens);
  } else {
    append_completion_logprobs(json, tokenizer_, part.tokens, part.text_offset);
  }
}

void AnswerWriter::append_ids(JsonWriter& json, const ChoicePart& part) const {
  if (!head_.return_token_ids) {
    return;
  }
  if (head_.kind == AnswerKind::completion && part.prompt != nullptr) {
    json.key("prompt_token_ids");
    append_id_list(json, *part.prompt);
  }
  json.key("token_ids").begin_array();
  for (const SampledToken& token : part.tokens) {
    json.number(token.id);
  }
  json.end_array();
}

void AnswerWriter::append_finish(JsonWriter& json, const FinishEvent* finish) const {
  json.key("finish_reason");
  if (finish == nullptr) {
    json.null();
    return;
  }
  json.string(reason_name(finish->reason));
  json.key("stop_reason");
  if (finish->stop_string) {
    json.string(*finish->stop_string);
  } else if (finish->stop_token && !tokenizer_.is_end_of_generation(*finish->stop_token)) {
    json.number(*finish->stop_token);
  } else {
    json.null();  // the model's own end, or the length
  }
}

void append_usage(JsonWriter& json, const Usage& usage) {
  json.begin_object();
  json.key("prompt_tokens").number(usage.prompt_tokens);
  json.key("completion_tokens").number(usage.completion_tokens);
  json.key("total_tokens").number(std::uint64_t{usage.prompt_tokens} + usage.completion_tokens);
  json.key("prompt_tokens_details").begin_object();
  json.key("cached_tokens").number(usage.cached_tokens);
  json.end_object().end_object();
}

void append_timeline(JsonWriter& json, const Timeline& timeline) {
  json.begin_object();
  json.key("total").number(seconds(timeline.total));
  json.key("first_token").number(seconds(timeline.first_token));
  json.key("stages").begin_object();
  for (std::size_t i = 0; i < kStageCount; ++i) {
    json.key(to_string(static_cast<Stage>(i))).number(seconds(timeline.stages[i]));
  }
  json.end_object();
  json.key("prefill").string(to_string(timeline.prefill));
  json.key("decode").string(to_string(timeline.decode));
  json.key("chunks").number(timeline.chunks);
  json.key("pages").number(timeline.pages);
  json.key("moved_bytes").number(timeline.moved_bytes);
  json.key("retractions").number(timeline.retractions);
  json.end_object();
}

}  // namespace baton
