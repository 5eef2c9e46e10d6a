#include "roles/http/prompt_fit.h"

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace baton {
namespace {

std::vector<TokenId> prompt_of(std::size_t size) {
  std::vector<TokenId> prompt(size);
  std::iota(prompt.begin(), prompt.end(), 0);
  return prompt;
}

Parsed<std::uint32_t> fit(std::vector<TokenId>& prompt, std::optional<std::uint32_t> max_tokens,
                          std::optional<std::int32_t> keep = {}, std::uint32_t min_tokens = 0) {
  RequestOptions options;
  options.max_tokens = max_tokens;
  options.truncate_prompt_tokens = keep;
  options.stop.min_tokens = min_tokens;
  return fit_prompt(prompt, options, 100);
}

}  // namespace

TEST_CASE("Prompt fit: up to the last token of the context, and not one more") {
  for (std::size_t size = 1; size < 100; ++size) {
    auto prompt = prompt_of(size);
    CHECK(*fit(prompt, {}) == 100 - size);
    const auto left = static_cast<std::uint32_t>(100 - size);
    CHECK(*fit(prompt, left) == left);
    CHECK(fit(prompt, left + 1).has_error());
    CHECK(prompt.size() == size);
  }
}

TEST_CASE("Prompt fit: the error has the numbers and blames the right field") {
  auto prompt = prompt_of(90);
  const ApiError error = fit(prompt, 20).error();
  CHECK(error.status == 400);
  CHECK(error.param == "max_tokens");
  CHECK(error.message.starts_with("This model's maximum context length is 100 tokens, but 110 were asked for: 90 in"));
  auto full = prompt_of(100);
  CHECK(fit(full, {}).error().param == "prompt");
  CHECK(fit(full, {}).error().message.find("100 in the prompt") != std::string::npos);
  std::vector<TokenId> empty;
  CHECK(fit(empty, 1).error().param == "prompt");
  auto some = prompt_of(50);
  CHECK(fit(some, {}, {}, 51).has_error());
  CHECK(*fit(some, {}, {}, 50) == 50);
}

TEST_CASE("Prompt fit: truncation keeps the end") {
  auto prompt = prompt_of(90);
  CHECK(*fit(prompt, 20, 3) == 20);
  CHECK(prompt == std::vector<TokenId>{87, 88, 89});
  auto all = prompt_of(300);
  CHECK(*fit(all, 20, -1) == 20);
  CHECK(all.size() == 80);
  CHECK(all.back() == 299);
  auto chat = prompt_of(300);
  CHECK(*fit(chat, {}, -1) == 1);
  CHECK(chat.size() == 99);
  auto huge = prompt_of(300);
  CHECK(fit(huge, 100, -1).has_error());
}

}  // namespace baton
