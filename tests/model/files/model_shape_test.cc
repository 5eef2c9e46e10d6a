#include "model/files/model_shape.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <doctest/doctest.h>

#include "tests/model/files/file_fixtures.h"

namespace baton::test {
namespace {

ModelShape good_shape() {
  ModelShape shape;
  shape.layers = 2;
  shape.hidden = 64;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 16;
  shape.ffn = 96;
  shape.vocab = 380;
  shape.context_length = 4096;
  return shape;
}

template <class Change>
std::string message_after(const Change& change) {
  ModelShape shape = good_shape();
  change(shape);
  return bad_file_message([&] { shape.validate("file"); });
}

}  // namespace

TEST_CASE("ModelShape: a good one passes, each field out of bounds is named") {
  CHECK(message_after([](ModelShape&) {}) == "nothing was thrown");
  CHECK(message_after([](ModelShape& s) { s.layers = 0; }) ==
        "file: the number of layers is 0, 1 to 1024 are supported");
  CHECK(contains(message_after([](ModelShape& s) { s.hidden = 1 << 30; }), "the hidden size is 1073741824"));
  CHECK(contains(message_after([](ModelShape& s) { s.heads = 0; }), "attention heads is 0"));
  CHECK(contains(message_after([](ModelShape& s) { s.kv_heads = 0; }), "key/value heads is 0"));
  CHECK(contains(message_after([](ModelShape& s) { s.kv_heads = 3; }), "4 attention heads cannot share 3"));
  CHECK(contains(message_after([](ModelShape& s) { s.kv_heads = 8; }), "4 attention heads cannot share 8"));
  CHECK(contains(message_after([](ModelShape& s) { s.head_dim = 15; }), "needs an even one"));
  CHECK(contains(message_after([](ModelShape& s) { s.ffn = 0; }), "feed-forward"));
  CHECK(contains(message_after([](ModelShape& s) { s.vocab = 1 << 23; }), "vocabulary"));
  CHECK(contains(message_after([](ModelShape& s) { s.context_length = 0; }), "context length"));
  CHECK(contains(message_after([](ModelShape& s) { s.rms_eps = 0; }), "epsilon"));
  CHECK(contains(message_after([](ModelShape& s) { s.rope.base = -1; }), "RoPE base"));
  CHECK(contains(message_after([](ModelShape& s) { s.rope.base = std::numeric_limits<double>::quiet_NaN(); }), "base"));
}

TEST_CASE("ModelShape: RoPE scaling is validated") {
  const auto llama3 = [](ModelShape& s) {
    s.rope.scaling = RopeScaling::llama3;
    s.rope.factor = 8;
  };
  CHECK(message_after(llama3) == "nothing was thrown");
  CHECK(contains(message_after([&](ModelShape& s) {
                   llama3(s);
                   s.rope.low_freq_factor = 4;
                 }),
                 "high_freq_factor is 4"));
  CHECK(contains(message_after([&](ModelShape& s) {
                   llama3(s);
                   s.rope.factor = 0;
                 }),
                 "scaling factor is 0"));
  CHECK(contains(message_after([](ModelShape& s) { s.rope.scaling = RopeScaling::divisors; }), "has 0 RoPE divisors"));
  CHECK(contains(message_after([](ModelShape& s) {
                   s.rope.scaling = RopeScaling::divisors;
                   s.rope.divisors.assign(8, 0.0F);
                 }),
                 "a RoPE divisor is 0"));
}

TEST_CASE("rope_frequencies: without scaling, base^(-2i/d)") {
  ModelShape shape = good_shape();
  const auto frequencies = rope_frequencies(shape);
  REQUIRE(frequencies.size() == 8);
  CHECK(frequencies[0] == 1.0F);
  CHECK(frequencies[4] == doctest::Approx(0.01));  // 10000^(-8/16)
  CHECK(frequencies[7] == doctest::Approx(std::pow(10000.0, -14.0 / 16)));
}

TEST_CASE("rope_frequencies: linear and stored divisors divide") {
  ModelShape shape = good_shape();
  shape.rope.scaling = RopeScaling::linear;
  shape.rope.factor = 4;
  CHECK(rope_frequencies(shape)[0] == 0.25F);
  shape.rope.scaling = RopeScaling::divisors;
  shape.rope.divisors = {1, 2, 1, 1, 1, 1, 1, 8};
  CHECK(rope_frequencies(shape)[1] == doctest::Approx(std::pow(10000.0, -2.0 / 16) / 2));
  CHECK(rope_frequencies(shape)[7] == doctest::Approx(std::pow(10000.0, -14.0 / 16) / 8));
}

TEST_CASE("rope_frequencies: llama3 keeps high ones, divides low ones, and is monotonous between") {
  ModelShape shape = good_shape();
  shape.head_dim = 128;
  shape.rope.base = 500000;
  shape.rope.scaling = RopeScaling::llama3;
  shape.rope.factor = 8;
  ModelShape plain = shape;
  plain.rope.scaling = RopeScaling::none;
  const auto scaled = rope_frequencies(shape);
  const auto whole = rope_frequencies(plain);
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const double turns = 8192 * static_cast<double>(whole[i]) / (2 * std::numbers::pi);
    const double ratio = static_cast<double>(scaled[i]) / static_cast<double>(whole[i]);
    CAPTURE(i);
    if (turns > 4) {
      CHECK(ratio == 1.0);
    } else if (turns < 1) {
      CHECK(ratio == doctest::Approx(0.125));
    } else {
      CHECK(ratio > 0.125);
      CHECK(ratio < 1.0);
    }
    CHECK((i == 0 || scaled[i] < scaled[i - 1]));
  }
}

}  // namespace baton::test
