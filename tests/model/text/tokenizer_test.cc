#include "model/text/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/text/utf8.h"
#include "runtime/errors.h"
#include "tests/model/text/byte_vocabulary.h"
#include "tests/model/text/reference_data.h"

namespace baton {
namespace {

using Ids = std::vector<TokenId>;

std::string refusal(Vocabulary vocabulary) {
  try {
    const Tokenizer tokenizer(std::move(vocabulary));
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::bad_file);
    return error.what();
  }
  return {};
}

// Merges by looking at all pairs for every merge, with the vocabulary's strings: slow and plain.
Ids naive_merge(const Tokenizer& tokenizer, const std::vector<std::string>& merges, const std::string& piece) {
  std::vector<std::string> symbols;
  for (const char c : piece) {
    symbols.push_back(alphabet_of_bytes(std::string(1, c)));
  }
  while (true) {
    std::size_t best_rank = merges.size();
    std::size_t best_at = 0;
    for (std::size_t at = 0; at + 1 < symbols.size(); ++at) {
      const auto found = std::find(merges.begin(), merges.end(), symbols[at] + " " + symbols[at + 1]);
      const auto rank = static_cast<std::size_t>(found - merges.begin());
      if (rank < best_rank) {
        best_rank = rank;
        best_at = at;
      }
    }
    if (best_rank == merges.size()) {
      break;
    }
    symbols[best_at] += symbols[best_at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
  Ids ids;
  for (const std::string& symbol : symbols) {
    ids.push_back(tokenizer.find(bytes_of_alphabet(symbol)).value());
  }
  return ids;
}

TEST_CASE("Tokenizer: merges by rank, the leftmost first") {
  const Tokenizer tokenizer(byte_vocabulary());
  CHECK(tokenizer.encode("abc") == Ids{258});
  CHECK(tokenizer.encode("bc") == Ids{257});
  CHECK(tokenizer.encode("aaa") == Ids{259, 'a'});
  CHECK(tokenizer.encode("aaaaa") == Ids{260, 'a'});
  CHECK(tokenizer.encode("").empty());
}

TEST_CASE("Tokenizer: merging agrees with the plain way on random pieces and random merges") {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    Vocabulary vocabulary = byte_vocabulary();
    vocabulary.tokens.resize(256);
    vocabulary.kinds.resize(256);
    vocabulary.merges.clear();
    vocabulary.eos.reset();
    std::vector<std::string> words = {"a", "b", "c"};
    while (words.size() < 15) {
      const std::string left = words[random() % words.size()];
      const std::string right = words[random() % words.size()];
      if (std::find(words.begin(), words.end(), left + right) == words.end()) {
        vocabulary.merges.push_back(left + " " + right);
        vocabulary.tokens.push_back(left + right);
        vocabulary.kinds.push_back(TokenKind::normal);
        words.push_back(left + right);
      }
    }
    const std::vector<std::string> merges = vocabulary.merges;
    const Tokenizer tokenizer(std::move(vocabulary));
    for (int piece = 0; piece < 20; ++piece) {
      std::string text;
      for (std::size_t i = 1 + random() % 30; i > 0; --i) {
        text += "abc"[random() % 3];
      }
      REQUIRE(tokenizer.encode(text) == naive_merge(tokenizer, merges, text));
    }
  }
}

TEST_CASE("Tokenizer: control tokens are found in trusted text only, user-defined ones everywhere") {
  const Tokenizer tokenizer(byte_vocabulary());
  CHECK(tokenizer.encode("a<|end|>b", {.parse_special = true}) == Ids{'a', 261, 'b'});
  const Ids plain = tokenizer.encode("a<|end|>b");
  CHECK(plain.size() == 9);
  CHECK(tokenizer.decode(plain) == "a<|end|>b");
  CHECK(tokenizer.encode("a<think>b") == Ids{'a', 262, 'b'});
}

TEST_CASE("Tokenizer: no control token comes from a client's segment, whole or in parts") {
  const Tokenizer tokenizer(byte_vocabulary());
  const auto has_control = [&](const std::vector<TextSegment>& segments) {
    for (const TokenId id : tokenizer.encode(segments)) {
      if (tokenizer.is_special(id)) {
        return true;
      }
    }
    return false;
  };
  CHECK_FALSE(has_control({{"<|end|>", false}}));
  CHECK_FALSE(has_control({{"<|en", true}, {"d|>", false}}));
  CHECK_FALSE(has_control({{"<|en", false}, {"d|>", true}}));
  CHECK_FALSE(has_control({{"<|", true}, {"end", false}, {"|>", true}}));
  CHECK(has_control({{"<|en", true}, {"d|>", true}}));
  CHECK(has_control({{"<|", false}, {"<|end|>", true}, {"x", false}}));
}

TEST_CASE("Tokenizer: pieces and merges go across segments") {
  const Tokenizer tokenizer(byte_vocabulary());
  CHECK(tokenizer.encode(std::vector<TextSegment>{{"a", true}, {"b", false}, {"c", true}}) == Ids{258});
  CHECK(tokenizer.encode(std::vector<TextSegment>{{"<|end|>a", true}, {"b", false}, {"<|end|>", true}}) ==
        Ids{261, 256, 261});
}

TEST_CASE("Tokenizer: a cut character at the end of one segment does not swallow the next") {
  const Tokenizer tokenizer(byte_vocabulary());
  const auto ids = tokenizer.encode(std::vector<TextSegment>{{"\xE2\x82", false}, {"<|end|>", true}});
  CHECK(ids == Ids{0xEF, 0xBF, 0xBD, 261});
}

TEST_CASE("Tokenizer: BOS and EOS are added where asked for and configured") {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.bos = 263;
  vocabulary.add_bos = true;
  vocabulary.add_eos = true;
  const Tokenizer tokenizer(std::move(vocabulary));
  CHECK(tokenizer.encode("a", {.add_special = true}) == Ids{263, 'a', 261});
  CHECK(tokenizer.encode("a") == Ids{'a'});
}

TEST_CASE("Tokenizer: a token that takes blanks takes those beside it") {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.strips = {{262, TokenStrip{true, true}}};
  const Tokenizer tokenizer(std::move(vocabulary));
  CHECK(tokenizer.encode("a \n<think>  b") == Ids{'a', 262, 'b'});
  CHECK(tokenizer.encode("<think> <think>") == Ids{262, 262});
}

TEST_CASE("Tokenizer: a piece that is a token is taken whole where merges are ignored") {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.merges = {"a b"};
  const Tokenizer merging(vocabulary);
  CHECK(merging.encode("bc") == Ids{'b', 'c'});
  vocabulary.ignore_merges = true;
  const Tokenizer whole(vocabulary);
  CHECK(whole.encode("bc") == Ids{257});
}

TEST_CASE("Tokenizer: bytes without a token give nothing, not the unknown token") {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.tokens['x'] = "xx";
  vocabulary.unk = 263;
  const Tokenizer tokenizer(vocabulary);
  CHECK(tokenizer.encode("axb") == Ids{'a', 'b'});
}

TEST_CASE("Tokenizer: knows what ends a text") {
  const Tokenizer tokenizer(byte_vocabulary());
  CHECK(tokenizer.is_end_of_generation(261));
  CHECK(tokenizer.is_end_of_generation(263));
  CHECK_FALSE(tokenizer.is_end_of_generation(262));
  CHECK_FALSE(tokenizer.is_end_of_generation(-1));
  CHECK_FALSE(tokenizer.is_end_of_generation(1 << 30));
}

TEST_CASE("Tokenizer: ids out of range stand for nothing") {
  const Tokenizer tokenizer(byte_vocabulary());
  CHECK(tokenizer.decode(Ids{'a', 5000, -3, 'b'}) == "ab");
  CHECK(tokenizer.token_bytes(5000).empty());
  CHECK_FALSE(tokenizer.is_special(5000));
}

TEST_CASE("Tokenizer: refuses a vocabulary that contradicts itself") {
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.tokens[300 - 44] = "a";
  CHECK(refusal(vocabulary).find("tokens 97 and 256 are the same") != std::string::npos);
  vocabulary = byte_vocabulary();
  vocabulary.merges.push_back("a zz");
  CHECK(refusal(vocabulary).find("merge 5 names 'zz'") != std::string::npos);
  vocabulary = byte_vocabulary();
  vocabulary.merges = {"ab"};
  CHECK(refusal(vocabulary).find("not a pair") != std::string::npos);
  vocabulary = byte_vocabulary();
  vocabulary.eos = 264;
  CHECK(refusal(vocabulary).find("the eos token is 264, but there are 264 tokens") != std::string::npos);
  vocabulary = byte_vocabulary();
  vocabulary.kinds.pop_back();
  CHECK(refusal(vocabulary).find("264 tokens but 263 token types") != std::string::npos);
  vocabulary = byte_vocabulary();
  vocabulary.tokens[262] = "<|end|>";
  CHECK(refusal(vocabulary).find("occurs twice") != std::string::npos);
  vocabulary = byte_vocabulary();
  vocabulary.tokens[262] = std::string(2000, 'x');
  CHECK(refusal(vocabulary).find("2000 bytes") != std::string::npos);
  vocabulary = byte_vocabulary();
  vocabulary.pre_tokenizer = "no-such-rule";
  CHECK(refusal(vocabulary).find("'no-such-rule' is not supported") != std::string::npos);
  CHECK_FALSE(refusal(Vocabulary()).empty());
}

TEST_CASE("Tokenizer: decoding what was encoded gives the text, any bytes give repaired text") {
  const Tokenizer tokenizer(byte_vocabulary());
  std::mt19937 random(8);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (std::size_t i = random() % 40; i > 0; --i) {
      bytes += static_cast<char>(random() % 3 == 0 ? random() % 256 : 'a' + random() % 3);
    }
    REQUIRE(tokenizer.decode(tokenizer.encode(bytes)) == repaired_utf8(bytes));
  }
}

TEST_CASE("Tokenizer: a megabyte of one kind of character is no attack") {
  const Tokenizer tokenizer = gguf_tokenizer("gpt-2");
  const auto started = std::chrono::steady_clock::now();
  std::string digits_and_lines;
  while (digits_and_lines.size() < 1000000) {
    digits_and_lines += "\" \n";
  }
  for (const std::string& text : {std::string(1000000, 'a'), std::string(1000000, ' '), std::string(1000000, '7'),
                                  std::string(1000000, '<'), digits_and_lines}) {
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
  // Quadratic merging takes hours here; the bound leaves room for sanitizers on a busy machine.
  CHECK(taken.count() < 60.0);
}

}  // namespace
}  // namespace baton
