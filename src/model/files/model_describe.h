// A model as text for people: what `baton model info` prints.
#pragma once

#include <optional>
#include <string>

#include "model/files/model_source.h"

namespace baton {

// Lines of "key: value": name, family, sizes, parameters, bytes by tensor type, KV bytes a token, tokenizer, template.
// Ends in a newline. Pure.
std::string describe(const ModelSource& source);

// The family of a chat template by its marks: "chatml", "llama3", "unknown", or "none" without a template.
std::string template_family(const std::optional<std::string>& chat_template);

}  // namespace baton
