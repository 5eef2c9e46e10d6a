// The one model a front end serves, as its API speaks of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/text/chat_template.h"
#include "model/text/tokenizer.h"

namespace baton {

struct ServedModel {
  std::string name;            // what clients put into "model"; an absent or empty field means this one too
  const Tokenizer& tokenizer;  // outlives the server; const, so shared with the ranks
  std::optional<ChatTemplate> chat_template;  // absent: chat requests are refused
  std::int64_t created = 0;  // Unix seconds when the server started; the `created` of every answer counts from it
  std::uint32_t max_model_len = 0;  // prompt and output together, in tokens
};

}  // namespace baton
