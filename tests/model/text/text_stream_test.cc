#include "model/text/text_stream.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/text/tokenizer.h"
#include "runtime/errors.h"
#include "tests/model/text/byte_vocabulary.h"

namespace baton {
namespace {

TextStream stream_with(std::vector<std::string> stop, bool include = false) {
  static const Tokenizer tokenizer(byte_vocabulary());
  TextStreamOptions options;
  options.stop = std::move(stop);
  options.include_stop = include;
  return TextStream(tokenizer, std::move(options));
}

// Where the text ends and which stop string ended it, by looking at every end and every string.
struct Ending {
  std::string text;
  std::optional<std::size_t> stop;
};

Ending naive(const std::string& text, const std::vector<std::string>& stops, bool include) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const bool ends_here =
          end >= stops[i].size() && text.compare(end - stops[i].size(), stops[i].size(), stops[i]) == 0;
      if (ends_here && (!best || stops[i].size() > stops[*best].size())) {
        best = i;
      }
    }
    if (best) {
      return {text.substr(0, include ? end : end - stops[*best].size()), best};
    }
  }
  return {text, std::nullopt};
}

TEST_CASE("TextStream: shows whole characters only") {
  TextStream stream = stream_with({});
  CHECK(stream.push_bytes("a\xF0\x9F") == "a");
  CHECK(stream.held_bytes() == 2);
  CHECK(stream.push_bytes("\x98").empty());
  CHECK(stream.push_bytes("\x80!") == "\xF0\x9F\x98\x80!");
  CHECK(stream.push_bytes("\xE2\x82").empty());
  CHECK(stream.flush() == "\xEF\xBF\xBD");
}

TEST_CASE("TextStream: a stop string across tokens is held back and cut away") {
  TextStream stream = stream_with({"\n\nUser:"});
  CHECK(stream.push_bytes("Hello\n") == "Hello");
  CHECK(stream.push_bytes("\nUs").empty());
  CHECK(stream.push_bytes("er: more").empty());
  CHECK(stream.stopped());
  CHECK(stream.matched_stop() == 0);
  CHECK(stream.push_bytes("later").empty());
  CHECK(stream.flush().empty());
}

TEST_CASE("TextStream: a tail that only looked like a stop string is shown") {
  TextStream stream = stream_with({"abcd"});
  CHECK(stream.push_bytes("xabc") == "x");
  CHECK(stream.push_bytes("abc") == "abc");
  CHECK(stream.flush() == "abc");
  CHECK_FALSE(stream.stopped());
}

TEST_CASE("TextStream: include_stop keeps the stop string") {
  TextStream stream = stream_with({"END"}, true);
  CHECK(stream.push_bytes("to the E") == "to the ");
  CHECK(stream.push_bytes("ND of") == "END");
  CHECK(stream.stopped());
}

TEST_CASE("TextStream: the stop string that ends first wins, then the longest") {
  TextStream stream = stream_with({"abcde", "cd", "bcd"});
  CHECK(stream.push_bytes("xabcdef") == "xa");
  CHECK(stream.matched_stop() == 2);
}

TEST_CASE("TextStream: a copy goes its own way") {
  TextStream stream = stream_with({"stop"});
  CHECK(stream.push_bytes("st").empty());
  TextStream copy = stream;
  CHECK(stream.push_bytes("op").empty());
  CHECK(copy.push_bytes("ay") == "stay");
  CHECK(stream.stopped());
  CHECK_FALSE(copy.stopped());
}

TEST_CASE("TextStream: refuses stop strings that mean nothing") {
  CHECK_THROWS_AS(stream_with({""}), Error);
  CHECK_THROWS_AS(stream_with({"a\xFF"}), Error);
  CHECK_THROWS_AS(stream_with(std::vector<std::string>(StopMatcher::kPatternsMax + 1, "x")), Error);
  CHECK_THROWS_AS(stream_with({std::string(StopMatcher::kPatternBytesMax + 1, 'x')}), Error);
  CHECK(StopMatcher::validate(std::vector<std::string>{"ok", ""}).value() == "stop: string 1 is empty");
}

TEST_CASE("TextStream: agrees with a search over the whole text, however the text is cut") {
  std::mt19937 random(11);
  const std::vector<std::string> letters = {"a", "b", "\xC3\xA4", "\xF0\x9F\x98\x80"};
  const auto word = [&](std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += letters[random() % letters.size()];
    }
    return text;
  };
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> stops;
    for (std::size_t i = random() % 4; i > 0; --i) {
      stops.push_back(word(1 + random() % 5));
    }
    const std::string text = word(random() % 40);
    const bool include = random() % 2 == 0;
    TextStream stream = stream_with(stops, include);
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t count = 1 + random() % 7;
      shown += stream.push_bytes(std::string_view(text).substr(at, count));
      REQUIRE(is_valid_utf8(shown));
      at += count;
    }
    shown += stream.flush();
    const Ending expected = naive(text, stops, include);
    REQUIRE(shown == expected.text);
    REQUIRE(stream.stopped() == expected.stop.has_value());
    if (expected.stop) {
      REQUIRE(stops[*stream.matched_stop()] == stops[*expected.stop]);
    }
  }
}

TEST_CASE("TextStream: control tokens give no text unless asked for") {
  Vocabulary vocabulary = byte_vocabulary();
  const Tokenizer tokenizer(vocabulary);
  const TokenId end = *vocabulary.eos;
  TextStream hidden(tokenizer, {});
  CHECK(hidden.push(end).empty());
  TextStreamOptions options;
  options.skip_special_tokens = false;
  TextStream visible(tokenizer, options);
  CHECK(visible.push(end) == "<|end|>");
}

}  // namespace
}  // namespace baton
