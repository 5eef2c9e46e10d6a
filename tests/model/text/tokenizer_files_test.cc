// What the readers of vocabularies refuse, and what they understand beyond the reference files.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/files/gguf.h"
#include "model/text/tokenizer.h"
#include "model/text/vocabulary.h"
#include "runtime/errors.h"
#include "tests/model/files/file_fixtures.h"

namespace baton {
namespace {

std::string tokenizer_json(const std::string& changed = {}, const std::string& with = {}) {
  std::string text =
      R"({"added_tokens":[{"id":4,"content":"<s>","special":true},{"id":5,"content":"<t>","special":false}],
    "normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},
    "post_processor":{"type":"ByteLevel"},
    "model":{"type":"BPE","unk_token":null,"byte_fallback":false,"ignore_merges":false,
    "vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})";
  if (!changed.empty()) {
    const std::size_t at = text.find(changed);
    REQUIRE(at != std::string::npos);
    text.replace(at, changed.size(), with);
  }
  return text;
}

std::string refusal(const std::string& tokenizer, const std::string& config = {}, const std::string& generation = {}) {
  try {
    vocabulary_from_hf({tokenizer, config, generation});
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::bad_file);
    return error.what();
  }
  return {};
}

TEST_CASE("Hugging Face vocabulary: tokens, holes, merges and special tokens") {
  const std::string text = tokenizer_json();
  const Vocabulary vocabulary = vocabulary_from_hf(
      {text, R"({"bos_token":"<s>","eos_token":{"content":"<t>"},"add_bos_token":true,"chat_template":"x"})",
       R"({"eos_token_id":[5,2]})"});
  CHECK(vocabulary.tokens == std::vector<std::string>{"a", "b", "ab", "", "<s>", "<t>"});
  CHECK(vocabulary.kinds[3] == TokenKind::unused);
  CHECK(vocabulary.kinds[4] == TokenKind::control);
  CHECK(vocabulary.kinds[5] == TokenKind::user_defined);
  CHECK(vocabulary.bos == 4);
  CHECK(vocabulary.eos == 5);
  CHECK(vocabulary.add_bos);
  CHECK(vocabulary.chat_template == "x");
  const Tokenizer tokenizer(vocabulary);
  CHECK(tokenizer.encode("ab", {.add_special = true}) == std::vector<TokenId>{4, 2});
  CHECK(tokenizer.is_end_of_generation(5));
  CHECK(tokenizer.is_end_of_generation(2));
}

TEST_CASE("Hugging Face vocabulary: merges may be pairs, templates may be named, a processor may add tokens") {
  const std::string pairs = tokenizer_json(R"(["a b"])", R"([["a","b"]])");
  const Vocabulary named = vocabulary_from_hf(
      {pairs, R"({"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}]})", ""});
  CHECK(named.merges == std::vector<std::string>{"a b"});
  CHECK(named.chat_template == "d");
  const std::string processor =
      tokenizer_json(R"({"type":"ByteLevel"})",
                     R"({"type":"Sequence","processors":[{"type":"ByteLevel"},{"type":"TemplateProcessing","single":
         [{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}]}]})");
  const Vocabulary adding = vocabulary_from_hf({processor, {}, {}});
  CHECK(adding.add_bos);
  CHECK_FALSE(adding.add_eos);
  CHECK(adding.bos == 4);
}

TEST_CASE("Hugging Face vocabulary: refuses what it does not understand, naming it") {
  const auto changed = [](const char* from, const char* to) { return refusal(tokenizer_json(from, to)); };
  CHECK(refusal(tokenizer_json()).empty());
  CHECK(refusal("{").starts_with("tokenizer.json: not valid JSON"));
  CHECK(refusal("[]") == "tokenizer.json: not a JSON object");
  CHECK(refusal("{}") == "tokenizer.json: there is no model");
  CHECK(changed(R"("BPE")", R"("Unigram")").find("'Unigram'") != std::string::npos);
  CHECK(changed(R"("byte_fallback":false)", R"("byte_fallback":true)").find("byte_fallback") != std::string::npos);
  CHECK(changed(R"("use_regex":true)", R"("use_regex":false)").find("pre-tokenizer") != std::string::npos);
  CHECK(changed(R"("add_prefix_space":false)", R"("add_prefix_space":true)").find("pre-tokenizer") !=
        std::string::npos);
  CHECK(changed(R"("normalizer":null)", R"("normalizer":{"type":"NFKC"})").find("'NFKC'") != std::string::npos);
  CHECK(changed(R"("b":1)", R"("b":-1)").find("no usable id") != std::string::npos);
  CHECK(changed(R"("b":1)", R"("b":1e300)").find("no usable id") != std::string::npos);
  CHECK(changed(R"("b":1)", R"("b":4000000000)").find("no usable id") != std::string::npos);
  CHECK(changed(R"("b":1)", R"("b":"1")").find("no usable id") != std::string::npos);
  CHECK(changed(R"("b":1)", R"("b":0)").find("is given to 'a' and to 'b'") != std::string::npos);
  CHECK(changed(R"(["a b"])", R"([["a"]])").find("merge 0 is not a pair") != std::string::npos);
  CHECK(changed(R"(["a b"])", R"("a b")").find("model.merges") != std::string::npos);
  CHECK(changed(R"("special":true)", R"("special":true,"single_word":true)").find("single_word") != std::string::npos);
  CHECK(changed(R"("content":"<s>",)", "").find("no content") != std::string::npos);
  CHECK(refusal(tokenizer_json(), R"({"eos_token":"<no>"})").find("'<no>'") != std::string::npos);
  CHECK(refusal(tokenizer_json(), {}, R"({"eos_token_id":77})").find("eos_token_id 77") != std::string::npos);
}

using test::GgufImage;

void put_text(GgufImage& file, const char* key, const char* text) {
  file.key(key, GgufKind::string).string(text);
}

void put_texts(GgufImage& file, const char* key, const std::vector<std::string>& texts) {
  file.array(key, GgufKind::string, texts.size());
  for (const std::string& text : texts) {
    file.string(text);
  }
}

void put_kinds(GgufImage& file, const std::vector<std::uint32_t>& kinds) {
  file.array("tokenizer.ggml.token_type", GgufKind::i32, kinds.size());
  for (const std::uint32_t kind : kinds) {
    file.u32(kind);
  }
}

// Metadata alone, as small as can be: four tokens, one merge, and room for `more` entries.
GgufImage small_vocabulary(std::uint64_t more = 0) {
  GgufImage file;
  file.head(0, 3 + more);
  put_text(file, "tokenizer.ggml.model", "gpt2");
  put_texts(file, "tokenizer.ggml.tokens", {"a", "b", "ab", "<s>"});
  put_texts(file, "tokenizer.ggml.merges", {"a b"});
  return file;
}

std::string refusal(GgufImage file) {
  file.pad();
  try {
    const Tokenizer tokenizer(vocabulary_from_gguf(file.parse()));
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::bad_file);
    return error.what();
  }
  return {};
}

TEST_CASE("GGUF vocabulary: refuses what it does not understand, naming the key") {
  CHECK(refusal(small_vocabulary()).empty());
  GgufImage other;
  put_text(other.head(0, 1), "tokenizer.ggml.model", "llama");
  CHECK(refusal(other).find("tokenizer.ggml.model is 'llama'") != std::string::npos);
  GgufImage pre = small_vocabulary(1);
  put_text(pre, "tokenizer.ggml.pre", "strange");
  CHECK(refusal(pre).find("'strange' is not supported") != std::string::npos);
  GgufImage kinds = small_vocabulary(1);
  put_kinds(kinds, {1, 1, 1, 9});
  CHECK(refusal(kinds).find("token_type holds 9") != std::string::npos);
  GgufImage few = small_vocabulary(1);
  put_kinds(few, {1, 1, 1});
  CHECK(refusal(few).find("3 entries for 4 tokens") != std::string::npos);
  GgufImage eos = small_vocabulary(1);
  eos.key("tokenizer.ggml.eos_token_id", GgufKind::u32).u32(4);
  CHECK(refusal(eos).find("eos_token_id is 4, but there are 4 tokens") != std::string::npos);
  GgufImage empty;
  put_text(empty.head(0, 1), "tokenizer.ggml.model", "gpt2");
  CHECK(refusal(empty).find("tokenizer.ggml.tokens") != std::string::npos);
}

}  // namespace
}  // namespace baton
