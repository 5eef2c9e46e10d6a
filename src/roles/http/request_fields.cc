#include "roles/http/request_fields.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace baton {

namespace json = boost::json;

namespace {

constexpr std::size_t kListMax = 1024;  // logit_bias, stop_token_ids, allowed_token_ids
constexpr float kNoBound = std::numeric_limits<float>::max();

void read_sampling(JsonFields& fields, const ApiLimits& limits, SamplingParams& sampling) {
  fields.number("temperature", 0.0F, kNoBound, sampling.temperature);
  fields.number("top_p", 0.0F, 1.0F, sampling.top_p);
  if (sampling.top_p <= 0.0F) {
    fields.refuse("top_p", "be above 0 and at most 1");
  }
  fields.integer<std::int32_t>("top_k", -1, std::numeric_limits<std::int32_t>::max(), sampling.top_k);
  fields.number("min_p", 0.0F, 1.0F, sampling.min_p);
  fields.number("repetition_penalty", 0.0F, kNoBound, sampling.repetition_penalty);
  if (sampling.repetition_penalty <= 0.0F) {
    fields.refuse("repetition_penalty", "be above 0");
  }
  fields.number("presence_penalty", -2.0F, 2.0F, sampling.presence_penalty);
  fields.number("frequency_penalty", -2.0F, 2.0F, sampling.frequency_penalty);
  fields.ids("allowed_token_ids", kListMax, limits.vocab_size, sampling.allowed_token_ids);
}

void read_logit_bias(JsonFields& fields, const ApiLimits& limits, SamplingParams& sampling) {
  const json::value* value = fields.find("logit_bias");
  if (value == nullptr) {
    return;
  }
  if (!value->is_object() || value->get_object().size() > kListMax) {
    return fields.refuse("logit_bias", fmt::format("be an object of at most {} token ids", kListMax));
  }
  for (const auto& member : value->get_object()) {
    const std::string_view name(member.key().data(), member.key().size());
    std::uint32_t id = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), id);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size() || id >= limits.vocab_size) {
      return fields.refuse("logit_bias", fmt::format("have token ids from 0 to {} as keys", limits.vocab_size - 1));
    }
    const double bias = member.value().is_number() ? member.value().to_number<double>() : 1000.0;
    if (!(bias >= -100.0 && bias <= 100.0)) {
      return fields.refuse("logit_bias", "have numbers from -100 to 100 as values");
    }
    sampling.logit_bias.emplace_back(static_cast<TokenId>(id), static_cast<float>(bias));
  }
}

void read_stop(JsonFields& fields, const ApiLimits& limits, StopConditions& stop) {
  fields.strings("stop", kStopStringsMax, stop.stop_strings);
  if (std::any_of(stop.stop_strings.begin(), stop.stop_strings.end(), [](const auto& s) { return s.empty(); })) {
    fields.refuse("stop", "hold no empty string");
  }
  fields.ids("stop_token_ids", kListMax, limits.vocab_size, stop.stop_token_ids);
  fields.integer<std::uint32_t>("min_tokens", 0, std::numeric_limits<std::int32_t>::max(), stop.min_tokens);
  fields.boolean("ignore_eos", stop.ignore_eos);
  fields.boolean("include_stop_str_in_output", stop.include_stop_string);
  fields.boolean("skip_special_tokens", stop.skip_special_tokens);
}

void read_stream(JsonFields& fields, RequestOptions& options) {
  fields.boolean("stream", options.stream);
  const json::value* value = fields.find("stream_options");
  if (value == nullptr) {
    return;
  }
  if (!value->is_object()) {
    return fields.refuse("stream_options", "be an object");
  }
  if (!options.stream) {
    return fields.fail("stream_options", "stream_options must be left out unless stream is true");
  }
  JsonFields inner(value->get_object(), "stream_options.");
  inner.boolean("include_usage", options.include_usage);
  inner.boolean("continuous_usage_stats", options.continuous_usage_stats);
  if (inner.failed()) {
    fields.fail("stream_options", inner.error().message);
  }
}

void refuse_if_present(JsonFields& fields, std::string_view name, std::string_view what) {
  const json::value* value = fields.find(name);
  const bool empty_list = value != nullptr && value->is_array() && value->get_array().empty();
  const bool is_false = value != nullptr && value->is_bool() && !value->get_bool();
  if (value != nullptr && !empty_list && !is_false) {
    fields.fail(name, fmt::format("{} is not supported: {}", name, what));
  }
}

// What would silently give another answer than the one asked for.
void refuse_unsupported(JsonFields& fields) {
  for (const char* name :
       {"structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "guided_decoding"}) {
    refuse_if_present(fields, name, "the output cannot be constrained");
  }
  refuse_if_present(fields, "prompt_logprobs", "log-probabilities of the prompt are not computed");
  refuse_if_present(fields, "bad_words", "use logit_bias with token ids");
  refuse_if_present(fields, "use_beam_search", "samples are drawn one by one");
  const json::value* format = fields.find("response_format");
  if (format == nullptr) {
    return;
  }
  const json::value* type = format->is_object() ? format->get_object().if_contains("type") : nullptr;
  if (type == nullptr || !type->is_string() || type->get_string() != "text") {
    fields.refuse("response_format", "have the type \"text\" (JSON modes are not supported)");
  }
}

// The text of one message: a string, or a list of parts of type text.
void read_content(JsonFields& message, std::string& content) {
  const json::value* value = message.find("content");
  if (value == nullptr) {
    return;  // an assistant's message may have none
  }
  if (value->is_string()) {
    content = std::string(value->get_string());
    return;
  }
  if (!value->is_array()) {
    return message.refuse("content", "be a string or a list of parts");
  }
  for (const json::value& part : value->get_array()) {
    if (part.is_string()) {
      content += std::string_view(part.get_string().data(), part.get_string().size());
      continue;
    }
    const json::value* type = part.is_object() ? part.get_object().if_contains("type") : nullptr;
    const json::value* text = part.is_object() ? part.get_object().if_contains("text") : nullptr;
    const bool is_text = type == nullptr || (type->is_string() && type->get_string() == "text");
    if (!is_text || text == nullptr || !text->is_string()) {
      return message.refuse("content", "hold parts of type \"text\" only");
    }
    content += std::string_view(text->get_string().data(), text->get_string().size());
  }
}

}  // namespace

void check_model(JsonFields& fields, const ApiLimits& limits) {
  std::string model;
  fields.string("model", model);
  if (!model.empty() && model != limits.model) {
    constexpr std::size_t kShown = 200;
    const std::string shown = model.size() <= kShown ? model : excerpt(json::value(model));
    fields.fail_with(ApiError(
        404, fmt::format("the model `{}` does not exist, the one served is `{}`", shown, limits.model), "model"));
  }
}

void read_options(JsonFields& fields, const ApiLimits& limits, RequestOptions& options) {
  fields.integer<std::uint32_t>("n", 1, limits.samples_max, options.n);
  read_sampling(fields, limits, options.sampling);
  read_logit_bias(fields, limits, options.sampling);
  read_stop(fields, limits, options.stop);
  std::int64_t seed = 0;
  const bool has_seed = fields.find("seed") != nullptr;
  fields.integer<std::int64_t>("seed", std::numeric_limits<std::int64_t>::min(),
                               std::numeric_limits<std::int64_t>::max(), seed);
  if (has_seed) {
    options.seed = static_cast<std::uint64_t>(seed);
  }
  read_stream(fields, options);
  std::int32_t keep = 0;
  const bool truncates = fields.find("truncate_prompt_tokens") != nullptr;
  fields.integer<std::int32_t>("truncate_prompt_tokens", -1, std::numeric_limits<std::int32_t>::max(), keep);
  if (truncates && keep == 0) {
    fields.refuse("truncate_prompt_tokens", "be -1 or at least 1");
  }
  if (truncates) {
    options.truncate_prompt_tokens = keep;
  }
  fields.string("cache_salt", options.cache_salt);
  if (fields.find("cache_salt") != nullptr && options.cache_salt.empty()) {
    fields.refuse("cache_salt", "be a string that is not empty");
  }
  fields.boolean("return_token_ids", options.return_token_ids);
  fields.boolean("return_timeline", options.return_timeline);
  refuse_unsupported(fields);
}

void check_options(JsonFields& fields, const ApiLimits& limits, const RequestOptions& options) {
  if (options.max_tokens && options.stop.min_tokens > *options.max_tokens) {
    fields.refuse("min_tokens", fmt::format("be at most max_tokens ({})", *options.max_tokens));
  }
  if (fields.failed()) {
    return;
  }
  if (auto wrong = options.sampling.validate(limits.vocab_size)) {
    fields.fail("", std::move(*wrong));
  }
}

void read_messages(JsonFields& fields, std::vector<ChatMessage>& messages) {
  const json::value* value = fields.find("messages");
  if (value == nullptr || !value->is_array() || value->get_array().empty()) {
    return fields.refuse("messages", "be a list of at least one message");
  }
  std::size_t index = 0;
  for (const json::value& member : value->get_array()) {
    const std::string place = fmt::format("messages[{}]", index++);
    if (!member.is_object()) {
      return fields.fail("messages", fmt::format("{} must be an object, got {}", place, excerpt(member)));
    }
    JsonFields message(member.get_object(), place + ".");
    std::string role;
    std::string content;
    message.string("role", role);
    if (role.empty()) {
      message.refuse("role", "be the name of a role");
    }
    read_content(message, content);
    if (message.failed()) {
      return fields.fail_with(message.error());
    }
    messages.emplace_back(std::move(role), std::move(content));
  }
}

void read_chat_options(JsonFields& fields, ChatOptions& options) {
  fields.boolean("add_generation_prompt", options.add_generation_prompt);
  fields.boolean("continue_final_message", options.continue_final_message);
  const json::value* arguments = fields.find("chat_template_kwargs");
  if (arguments == nullptr) {
    return;
  }
  if (!arguments->is_object()) {
    return fields.refuse("chat_template_kwargs", "be an object");
  }
  JsonFields inner(arguments->get_object(), "chat_template_kwargs.");
  inner.boolean("enable_thinking", options.enable_thinking);
  if (inner.failed()) {
    fields.fail_with(inner.error());
  }
}

}  // namespace baton
