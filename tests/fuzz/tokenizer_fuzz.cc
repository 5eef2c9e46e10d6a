// Any bytes as a client's text between two pieces of a template: encoding loses nothing, no control token comes out of
// the client's part, and a stream shows the text that decoding at once gives. The first byte chooses the rule.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "model/text/text_stream.h"
#include "model/text/tokenizer.h"
#include "model/text/utf8.h"
#include "tests/model/text/byte_vocabulary.h"

namespace {

constexpr std::array kRules = {"gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "deepseek-v3"};

std::vector<baton::Tokenizer> tokenizers() {
  std::vector<baton::Tokenizer> all;
  for (const char* rule : kRules) {
    baton::Vocabulary vocabulary = baton::byte_vocabulary();
    vocabulary.pre_tokenizer = rule;
    vocabulary.ignore_merges = all.size() % 2 == 1;
    all.emplace_back(std::move(vocabulary));
  }
  return all;
}

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

std::string streamed(const baton::Tokenizer& tokenizer, const std::vector<baton::TokenId>& ids,
                     baton::TextStreamOptions options) {
  baton::TextStream stream(tokenizer, std::move(options));
  std::string text;
  for (const baton::TokenId id : ids) {
    text += stream.push(id);
    require(baton::is_valid_utf8(text));
  }
  return text + stream.flush();
}

void check(const baton::Tokenizer& tokenizer, const std::string& input) {
  const std::string text = baton::repaired_utf8(input);
  const std::vector<baton::TokenId> ids = tokenizer.encode(input);
  for (const baton::TokenId id : ids) {
    require(!tokenizer.is_special(id));
  }
  require(tokenizer.decode(ids) == text);
  require(streamed(tokenizer, ids, {}) == text);
  baton::TextStreamOptions stopping;
  stopping.stop = {"ab", "\n\n", "<|end|>"};
  const std::string shown = streamed(tokenizer, ids, stopping);
  require(text.starts_with(shown));
  require(shown.find("ab") == std::string::npos && shown.find("\n\n") == std::string::npos);

  const std::vector<baton::TextSegment> segments = {{"<|end|>a<|", true}, {input, false}, {"|>b<|end|>", true}};
  std::size_t control = 0;
  for (const baton::TokenId id : tokenizer.encode(segments)) {
    control += tokenizer.is_special(id) ? 1 : 0;
  }
  require(control == 2);
  require(tokenizer.decode(tokenizer.encode(segments), false) == "<|end|>a<|" + text + "|>b<|end|>");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<baton::Tokenizer> all = tokenizers();
  if (size > 0) {
    check(all[data[0] % all.size()], std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  }
  return 0;
}
