// Ids and splits that others computed: llama.cpp's public vectors, and Hugging Face's `tokenizers` on texts of ours.
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "model/text/pretokenizer.h"
#include "tests/model/text/reference_data.h"

namespace baton {
namespace {

std::vector<std::string> parts_of(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find(separator, at);
    REQUIRE(end != std::string::npos);  // every part ends with one
    parts.push_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  return parts;
}

std::vector<TokenId> ids_of(const std::string& line) {
  std::istringstream numbers(line);
  std::vector<TokenId> ids;
  for (TokenId id = 0; numbers >> id;) {
    ids.push_back(id);
  }
  return ids;
}

void check_vectors(const Tokenizer& tokenizer, const std::string& name) {
  const auto inputs = parts_of(reference_text("common.inp"), "\n__ggml_vocab_test__\n");
  const auto outputs = parts_of(reference_text(name + ".out"), "\n");
  REQUIRE(inputs.size() == 46);
  REQUIRE(outputs.size() == inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<TokenId> ids = tokenizer.encode(inputs[i]);
    CHECK_MESSAGE(ids == ids_of(outputs[i]), name, " test ", i, ": ", inputs[i]);
    CHECK(tokenizer.decode(ids) == inputs[i]);
  }
}

void check_ids(const Tokenizer& tokenizer, const std::string& name) {
  const auto texts = reference_texts();
  const auto expected =
      boost::json::value_to<std::vector<std::vector<TokenId>>>(reference_json("ids.json").as_object().at(name));
  REQUIRE(expected.size() == texts.size());
  REQUIRE(texts.size() > 300);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    // User-defined tokens are matched in any text; the reference was made without added tokens.
    if (texts[i].find("<think>") == std::string::npos) {
      CHECK_MESSAGE(tokenizer.encode(texts[i]) == expected[i], name, " text ", i, ": ", texts[i]);
    }
  }
}

TEST_CASE("Tokenizer: the public vectors give equal ids with a whole GGUF vocabulary") {
  check_vectors(gguf_tokenizer("gpt-2"), "gpt-2");
  check_vectors(gguf_tokenizer("starcoder"), "starcoder");
}

TEST_CASE("Tokenizer: the public vectors give equal ids with the part of Llama 3 and Qwen2 they need") {
  check_vectors(hf_tokenizer("llama3"), "llama-bpe");
  check_vectors(hf_tokenizer("qwen2"), "qwen2");
}

TEST_CASE("Tokenizer: awkward texts get the ids that Hugging Face's implementation gives") {
  check_ids(gguf_tokenizer("smollm2"), "smollm2");
  check_ids(hf_tokenizer("llama3"), "llama3");
  check_ids(hf_tokenizer("qwen2"), "qwen2");
}

TEST_CASE("PreTokenizer: every rule cuts awkward texts where Hugging Face's implementation does") {
  const auto texts = reference_texts();
  const boost::json::value splits = reference_json("splits.json");
  for (const auto& [rule, expected] : splits.as_object()) {
    const PreTokenizer pre_tokenizer{std::string_view(rule)};
    const auto lengths = boost::json::value_to<std::vector<std::vector<std::size_t>>>(expected);
    REQUIRE(lengths.size() == texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<std::size_t> found;
      for (const std::string_view piece : pre_tokenizer.split(texts[i])) {
        found.push_back(piece.size());
      }
      CHECK_MESSAGE(found == lengths[i], std::string_view(rule), " text ", i, ": ", texts[i]);
    }
  }
}

TEST_CASE("Tokenizer: the default model's file says what its chats need") {
  const Tokenizer tokenizer = gguf_tokenizer("smollm2");
  CHECK(tokenizer.vocab_size() == 49152);
  CHECK(tokenizer.vocabulary().pre_tokenizer == "smollm");
  CHECK_FALSE(tokenizer.vocabulary().add_bos);
  CHECK(tokenizer.find("<|im_end|>") == 2);
  CHECK(std::vector<TokenId>(tokenizer.end_of_generation_ids().begin(), tokenizer.end_of_generation_ids().end()) ==
        std::vector<TokenId>{0, 2});
  // Bytes without a token give nothing, in particular not the unknown token, which is <|endoftext|>.
  CHECK(tokenizer.decode(tokenizer.encode("a\x04\x06z")) == "az");
}

}  // namespace
}  // namespace baton
