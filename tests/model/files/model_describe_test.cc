#include "model/files/model_describe.h"

#include <doctest/doctest.h>

#include "tests/model/files/file_fixtures.h"

namespace baton::test {

TEST_CASE("describe: says what a GGUF model is") {
  const std::string text = describe(ModelSource::open("tests/data/models/tiny-chat.gguf"));
  CHECK(contains(text, "format:           GGUF v3\n"));
  CHECK(contains(text, "architecture:     llama\n"));
  CHECK(contains(text, "heads:            4 of 16, 2 for keys and values\n"));
  CHECK(contains(text, "Q4_1 37.5 KiB in 14"));
  CHECK(contains(text, "kv per token:     256 B as f16\n"));
  CHECK(contains(text, "tokenizer:        gpt2, pre-tokenizer smollm\n"));
  CHECK(contains(text, "chat template:    chatml\n"));
  CHECK(contains(text, "end tokens:       0, 2\n"));
}

TEST_CASE("describe: says what a Hugging Face directory is") {
  const std::string text = describe(ModelSource::open("tests/data/models/tiny-llama-3"));
  CHECK(contains(text, "format:           safetensors\n"));
  CHECK(contains(text, "name:             tiny-llama-3\n"));
  CHECK(contains(text, "rope:             base 500000, scaling llama3 by 8\n"));
  CHECK(contains(text, "tokenizer:        tokenizer.json\n"));
  CHECK(contains(text, "chat template:    llama3\n"));
}

TEST_CASE("template_family: goes by the marks in the text") {
  CHECK(template_family(std::nullopt) == "none");
  CHECK(template_family("{{ '<|im_start|>' }}") == "chatml");
  CHECK(template_family("{{ '<|start_header_id|>' }}") == "llama3");
  CHECK(template_family("[INST]") == "unknown");
}

}  // namespace baton::test
