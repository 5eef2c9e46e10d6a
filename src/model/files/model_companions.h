// What comes with the weights and is read before the tokenizer exists: the chat template, and the tokens at the ends.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/files/gguf.h"
#include "model/files/model_shape.h"
#include "runtime/ids.h"

namespace baton {

struct ModelCompanions {
  std::optional<std::string> chat_template;
  std::vector<TokenId> end_tokens;  // ascending, each once, all inside the vocabulary
  std::optional<TokenId> begin_token;
};

// From GGUF metadata. Files name one end token although chat models have several, so those texts of the vocabulary that
// end a turn or a text in the known chat families count too, as in llama.cpp.
ModelCompanions companions_of_gguf(const GgufFile& file, const ModelShape& shape);

// From config.json, generation_config.json, chat_template.jinja and tokenizer_config.json of a Hugging Face directory;
// all but the first may be absent.
ModelCompanions companions_of_directory(const std::filesystem::path& directory, const ModelShape& shape);

}  // namespace baton
