// Truncated, corrupt and hostile GGUF files: each is refused with its own message, quickly and without much memory.

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "model/files/gguf.h"
#include "tests/model/files/file_fixtures.h"

namespace baton::test {
namespace {

std::string message_of(const GgufImage& image) {
  return bad_file_message([&] { image.parse(); });
}

// A good file with one tensor whose entry the caller makes: {dims, type, offset}, 64 bytes of data.
GgufImage with_tensor(const std::vector<std::uint64_t>& dims, std::uint32_t type, std::uint64_t offset) {
  GgufImage image;
  image.head(1, 0).tensor("t", dims, type, offset).pad().zeros(64);
  return image;
}

constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;

}  // namespace

TEST_CASE("GgufFile: other files and versions are refused by what they are") {
  CHECK(contains(message_of(GgufImage().raw("GGUX").zeros(20)), "does not start with 'GGUF'"));
  CHECK(contains(message_of(GgufImage().raw("GG")), "the magic number needs 4 bytes at offset 0, but only 2 are left"));
  CHECK(contains(message_of(GgufImage().head(0, 0, 1)), "version 1 is not supported"));
  CHECK(contains(message_of(GgufImage().head(0, 0, 4)), "version 4 is not supported"));
  CHECK(contains(message_of(GgufImage().head(0, 0, 0x03000000)), "big-endian"));
}

TEST_CASE("GgufFile: huge counts are refused before anything is allocated") {
  CHECK(contains(message_of(GgufImage().head(kHuge, 0)), "claims 4611686018427387904 tensors, but only 0 bytes"));
  CHECK(contains(message_of(GgufImage().head(0, kHuge)), "claims 4611686018427387904 metadata values"));
  GgufImage strings;
  strings.head(0, 1).array("many", GgufKind::string, kHuge).zeros(64);
  CHECK(contains(message_of(strings), "key 'many' claims 4611686018427387904 elements of type string"));
  GgufImage doubles;  // a product that would wrap around
  doubles.head(0, 1).array("many", GgufKind::f64, (std::uint64_t{1} << 61) + 1).zeros(64);
  CHECK(contains(message_of(doubles), "key 'many' claims"));
  GgufImage key;
  key.head(0, 1).u64(std::numeric_limits<std::uint64_t>::max()).zeros(64);
  CHECK(contains(message_of(key), "metadata key 0 needs 18446744073709551615 bytes"));
}

TEST_CASE("GgufFile: odd keys and values are refused") {
  GgufImage kind;
  kind.head(0, 1).string("k").u32(13).zeros(64);
  CHECK(contains(message_of(kind), "key 'k' has the unknown value type 13"));
  GgufImage empty;
  empty.head(0, 1).key("", GgufKind::u8).zeros(64);
  CHECK(contains(message_of(empty), "metadata key 0 has 0 bytes"));
  GgufImage twice;
  twice.head(0, 2).key("k", GgufKind::u8).zeros(1).key("k", GgufKind::u8).zeros(1);
  CHECK(contains(message_of(twice), "key 'k' occurs twice"));
  GgufImage unprintable;
  unprintable.head(0, 1).string("a\n" + std::string(100, 'b')).u32(99).zeros(64);
  CHECK(contains(message_of(unprintable), "key 'a\\x0abbb"));
  CHECK(contains(message_of(unprintable), "bbb...' has"));
}

TEST_CASE("GgufFile: arrays nest a few levels and no more") {
  GgufImage image;
  image.head(0, 1).key("deep", GgufKind::array);
  for (int i = 0; i < 1000; ++i) {
    image.u32(9).u64(1);
  }
  CHECK(contains(message_of(image.zeros(64)), "key 'deep' nests arrays more than 4 deep"));
}

TEST_CASE("GgufFile: wrong tensor entries are refused with their numbers") {
  CHECK(contains(message_of(with_tensor({16}, 99, 0)), "tensor 't' has type 99 (?)"));
  CHECK(contains(message_of(with_tensor({256}, 23, 0)), "tensor 't' has type 23 (IQ4_XS), which is not supported"));
  CHECK(contains(message_of(with_tensor({}, 0, 0)), "has 0 dimensions"));
  CHECK(contains(message_of(with_tensor({1, 1, 1, 1, 1}, 0, 0)), "has 5 dimensions"));
  CHECK(contains(message_of(with_tensor({0, 4}, 0, 0)), "dimension 0 of size 0"));
  CHECK(contains(message_of(with_tensor({33, 1}, 2, 0)), "rows of 33 values, not a multiple of the block of 32"));
  CHECK(contains(message_of(with_tensor({kHuge, 8}, 0, 0)), "whose product overflows"));
  CHECK(contains(message_of(with_tensor({4, kHuge, 4}, 1, 0)), "whose product overflows"));
  CHECK(contains(message_of(with_tensor({4}, 0, 7)), "starts at offset 7, not a multiple of 32"));
  CHECK(contains(message_of(with_tensor({17}, 0, 0)), "has 68 bytes at offset 0, past the 64 bytes of data"));
  CHECK(contains(message_of(with_tensor({1}, 0, 96)), "has 4 bytes at offset 96, past the 64 bytes"));
  CHECK(contains(message_of(with_tensor({1}, 0, std::uint64_t{0} - 32)), "past the 64 bytes"));
  CHECK(message_of(with_tensor({16}, 0, 0)) == "nothing was thrown");
}

TEST_CASE("GgufFile: tensors of one name or one place are refused") {
  GgufImage twice;
  twice.head(2, 0).tensor("t", {4}, 0, 0).tensor("t", {4}, 0, 32).pad().zeros(64);
  CHECK(contains(message_of(twice), "tensor 't' occurs twice"));
  GgufImage overlap;
  overlap.head(2, 0).tensor("a", {16}, 0, 0).tensor("b", {4}, 0, 32).pad().zeros(64);
  CHECK(contains(message_of(overlap), "tensors 'a' and 'b' overlap at offset 32"));
  GgufImage unnamed;
  unnamed.head(1, 0).tensor("", {4}, 0, 0).pad().zeros(64);
  CHECK(contains(message_of(unnamed), "has a name of 0 bytes"));
}

TEST_CASE("GgufFile: the alignment is a power of two of type u32") {
  const auto aligned = [](std::uint32_t value) {
    GgufImage image;
    image.head(0, 1).key("general.alignment", GgufKind::u32).u32(value);
    return message_of(image);
  };
  CHECK(aligned(64) == "nothing was thrown");
  CHECK(contains(aligned(0), "'general.alignment' is 0"));
  CHECK(contains(aligned(48), "'general.alignment' is 48"));
  CHECK(contains(aligned(0x80000000), "'general.alignment' is 2147483648"));
  GgufImage text;
  text.head(0, 1).key("general.alignment", GgufKind::string).string("32");
  CHECK(contains(message_of(text), "is of type string"));
}

TEST_CASE("GgufFile: a file cut anywhere in its header or data is refused") {
  const std::string whole = read_file("tests/data/models/tiny-chat.gguf");
  REQUIRE(whole.size() > 10'000);
  const auto message = [&](std::size_t length) {
    return bad_file_message([&] { GgufFile::parse(bytes_of(std::string_view(whole).substr(0, length)), "cut"); });
  };
  for (std::size_t length = 0; length < whole.size(); length += length < 16'000 ? 1 : 997) {
    CAPTURE(length);
    REQUIRE(contains(message(length), "cut: "));
  }
  CHECK(message(whole.size()) == "nothing was thrown");
}

TEST_CASE("GgufFile: a file with one byte changed is read or refused, and never more") {
  std::string bytes = read_file("tests/data/models/tiny-chat.gguf");
  std::mt19937 random(3);
  std::size_t refused = 0;
  for (std::size_t place = 0; place < 12'000; ++place) {
    const char kept = bytes[place];
    bytes[place] = static_cast<char>(random());
    const std::string message = bad_file_message([&] {
      const GgufFile file = GgufFile::parse(bytes_of(bytes), "changed");
      for (const std::string_view key : file.keys()) {  // walk what was accepted
        if (file.find(key)->element_kind == GgufKind::string && file.find(key)->kind == GgufKind::array) {
          file.find_strings(key);
        }
      }
    });
    REQUIRE((message == "nothing was thrown" || contains(message, "changed: ")));
    refused += message == "nothing was thrown" ? 0U : 1U;
    bytes[place] = kept;
  }
  CHECK(refused > 100);
}

}  // namespace baton::test
