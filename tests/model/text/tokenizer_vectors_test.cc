// Expected ids that others computed: llama.cpp's vectors, which Hugging Face's tokenizers gave (tests/data/tokenizer).
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/files/gguf.h"
#include "model/text/tokenizer.h"

namespace baton {
namespace {

const std::string kFolder = "tests/data/tokenizer/";

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (true) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string::npos) {
      return parts;
    }
    at = end + separator.size();
  }
}

std::string line_of(const std::vector<TokenId>& ids) {
  std::string line;
  for (const TokenId id : ids) {
    line += " " + std::to_string(id);
  }
  return line;
}

void check_vectors(const std::string& name) {
  const Tokenizer tokenizer(vocabulary_from_gguf(GgufFile::open(kFolder + name + ".gguf")));
  auto inputs = split(contents(kFolder + "common.inp"), "\n__ggml_vocab_test__\n");
  inputs.pop_back();  // the file ends with a separator
  const auto outputs = split(contents(kFolder + name + ".out"), "\n");
  REQUIRE(inputs.size() == 46);
  REQUIRE(outputs.size() >= inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<TokenId> ids = tokenizer.encode(inputs[i]);
    CHECK_MESSAGE(line_of(ids) == outputs[i], name, " test ", i, ": ", inputs[i]);
    CHECK(tokenizer.decode(ids) == inputs[i]);
  }
}

TEST_CASE("Tokenizer: gpt-2 gives the ids of the public vectors") {
  check_vectors("gpt-2");
}
TEST_CASE("Tokenizer: starcoder gives the ids of the public vectors") {
  check_vectors("starcoder");
}

}  // namespace
}  // namespace baton
