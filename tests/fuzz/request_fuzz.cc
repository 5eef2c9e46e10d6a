// Any text as the body of an API request: it is a request inside all bounds, or refused with an answer that is JSON.
// The first byte picks the endpoint.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "roles/http/api_error.h"
#include "roles/http/api_request.h"
#include "roles/http/http_head.h"
#include "roles/http/prompt_fit.h"

namespace {

constexpr std::size_t kVocabulary = 300;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check_refusal(const baton::ApiError& error) {
  require(error.status >= 400 && error.status < 500);
  const boost::json::value body = boost::json::parse(baton::error_body(error));  // throws if it is none
  require(body.at("error").at("message").is_string());
}

void check_ids(const std::vector<baton::TokenId>& ids) {
  for (const baton::TokenId id : ids) {
    require(id >= 0 && static_cast<std::size_t>(id) < kVocabulary);
  }
}

void check_options(const baton::RequestOptions& options, const baton::ApiLimits& limits) {
  require(options.n >= 1 && options.n <= limits.samples_max);
  require(!options.sampling.validate(kVocabulary));
  require(options.sampling.top_logprobs <= baton::kApiTopLogprobsMax);
  require(options.stop.stop_strings.size() <= baton::kStopStringsMax);
  require(!options.max_tokens || *options.max_tokens >= 1);
  check_ids(options.stop.stop_token_ids);
  std::vector<baton::TokenId> prompt(40, 1);
  const auto room = baton::fit_prompt(prompt, options, 100);
  require(room.has_error() || (*room >= 1 && *room + prompt.size() <= 100 && !prompt.empty()));
}

void check(const baton::CompletionRequest& request, const baton::ApiLimits& limits) {
  check_options(request.options, limits);
  require(!request.prompts.empty() && request.prompts.size() * request.options.n <= limits.samples_max);
  for (const baton::PromptInput& prompt : request.prompts) {
    if (const auto* ids = std::get_if<std::vector<baton::TokenId>>(&prompt)) {
      require(!ids->empty());
      check_ids(*ids);
    }
  }
}

void check(const baton::ChatRequest& request, const baton::ApiLimits& limits) {
  check_options(request.options, limits);
  require(!request.messages.empty());
}

void check(const baton::TokenizeRequest&, const baton::ApiLimits&) {}
void check(const std::vector<baton::TokenId>& ids, const baton::ApiLimits&) {
  check_ids(ids);
}

template <class T>
void check_parsed(const baton::Parsed<T>& request, const baton::ApiLimits& limits) {
  if (request.has_error()) {
    check_refusal(request.error());
  } else {
    check(*request, limits);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  baton::ApiLimits limits;
  limits.model = "toy";
  limits.vocab_size = kVocabulary;
  limits.samples_max = 8;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      check_parsed(baton::parse_completion_request(body, limits), limits);
      break;
    case 1:
      check_parsed(baton::parse_chat_request(body, limits), limits);
      break;
    case 2:
      check_parsed(baton::parse_tokenize_request(body, limits), limits);
      break;
    case 3:
      check_parsed(baton::parse_detokenize_request(body, limits), limits);
      break;
    default:
      check_refusal(baton::ApiError(404, baton::path_of_target(body)));
      require(baton::harmless_id(body).size() <= 128);
  }
  return 0;
}
