#include "roles/http/prompt_fit.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace baton {
namespace {

std::size_t tokens_to_keep(std::int32_t asked, std::uint32_t max_tokens, std::uint32_t max_context) {
  if (asked >= 0) {
    return static_cast<std::size_t>(asked);
  }
  return max_context > max_tokens ? max_context - max_tokens : 1;
}

}  // namespace

Parsed<std::uint32_t> fit_prompt(std::vector<TokenId>& prompt, const RequestOptions& options,
                                 std::uint32_t max_context) {
  if (options.truncate_prompt_tokens) {
    const std::size_t keep =
        tokens_to_keep(*options.truncate_prompt_tokens, options.max_tokens.value_or(1), max_context);
    if (prompt.size() > keep) {
      prompt.erase(prompt.begin(), prompt.end() - static_cast<std::ptrdiff_t>(keep));
    }
  }
  if (prompt.empty()) {
    return ApiError(400, "the prompt is empty: it must have at least one token", "prompt");
  }
  const std::size_t wanted = std::max<std::size_t>(options.max_tokens.value_or(1), options.stop.min_tokens);
  if (prompt.size() + wanted > max_context) {
    // Clients recognise this error by its first words, which are vLLM's and OpenAI's.
    return ApiError(400,
                    fmt::format("This model's maximum context length is {} tokens, but {} were asked for: {} in the "
                                "prompt and {} to generate. Shorten the prompt or ask for fewer.",
                                max_context, prompt.size() + wanted, prompt.size(), wanted),
                    prompt.size() >= max_context ? "prompt" : "max_tokens");
  }
  return options.max_tokens ? *options.max_tokens : static_cast<std::uint32_t>(max_context - prompt.size());
}

}  // namespace baton
