// The tokens of a model as its files state them: plain data, filled by readers of GGUF metadata or of Hugging Face
// files, checked by Tokenizer when it is built from it. Byte-level BPE only.
//
// A normal token is stored in the byte-level alphabet of GPT-2 (every byte is one printable character); added tokens
// (control and user-defined) are stored as the text they stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/ids.h"

namespace baton {

class GgufFile;

// The numbers are those of GGUF's tokenizer.ggml.token_type.
enum class TokenKind : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// An added token that takes the blanks beside it (Hugging Face's lstrip and rstrip).
struct TokenStrip {
  bool left = false;
  bool right = false;
};

struct Vocabulary {
  std::vector<std::string> tokens;      // index = id
  std::vector<TokenKind> kinds;         // as many as tokens
  std::vector<std::string> merges;      // "left right", best first
  std::string pre_tokenizer = "gpt-2";  // the name GGUF uses in tokenizer.ggml.pre
  bool ignore_merges = false;           // a piece that is itself a token is taken whole (Llama 3)
  bool normalize_nfc = false;           // the file asks for Unicode NFC first (Qwen); see Tokenizer
  bool add_bos = false;
  bool add_eos = false;
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> eot;  // end of a turn, where it is not eos
  std::optional<TokenId> unk;
  std::optional<TokenId> pad;
  std::vector<TokenId> end_of_generation;              // more ids that end the text, beside eos and eot
  std::vector<std::pair<TokenId, TokenStrip>> strips;  // added tokens that take blanks; usually empty
  std::string chat_template;                           // Jinja text, empty if the file has none
};

// From GGUF metadata (tokenizer.ggml.*). Throws Error(bad_file) that names the key for anything but byte-level BPE.
Vocabulary vocabulary_from_gguf(const GgufFile& file);

// The three texts of a Hugging Face folder; only the first must be there.
struct HuggingFaceTexts {
  std::string_view tokenizer_json;
  std::string_view tokenizer_config_json;   // special tokens by name, add_bos_token, chat_template; may be empty
  std::string_view generation_config_json;  // eos_token_id as a number or a list; may be empty
};

// Throws Error(bad_file) for text that is no JSON, another model type than BPE, or a pre-tokenizer it does not know.
Vocabulary vocabulary_from_hf(const HuggingFaceTexts& texts);

// Names of the pre-tokenizers that Tokenizer can be built with are listed in pretokenizer.h.
}  // namespace baton
