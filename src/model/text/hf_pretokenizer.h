// Which of baton's pre-tokenizers the "pre_tokenizer" of a Hugging Face tokenizer.json describes.
#pragma once

#include <optional>
#include <string>

#include <boost/json/fwd.hpp>

namespace baton {

// The name that PreTokenizer takes; nullopt for a description that is none of them in every detail.
std::optional<std::string> recognise_hf_pre_tokenizer(const boost::json::value& described);

}  // namespace baton
