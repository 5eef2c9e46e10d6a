// Does a prompt fit the model's context, and how many tokens may follow? Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "roles/http/api_error.h"
#include "roles/http/api_request.h"
#include "runtime/ids.h"

namespace baton {

// Shortens the prompt as truncate_prompt_tokens asks, then returns how many tokens may be generated: max_tokens, or
// what is left of the context where the request gave none. 400 with the numbers when it does not fit.
Parsed<std::uint32_t> fit_prompt(std::vector<TokenId>& prompt, const RequestOptions& options,
                                 std::uint32_t max_context);

}  // namespace baton
