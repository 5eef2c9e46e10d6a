#include "model/files/gguf.h"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/model/files/file_fixtures.h"

namespace baton::test {
namespace {

// One value of each kind, and arrays.
GgufImage image_of_values() {
  GgufImage image;
  image.head(0, 18);
  image.key("u8", GgufKind::u8).number<std::uint8_t>(200);
  image.key("i8", GgufKind::i8).number<std::int8_t>(-5);
  image.key("u16", GgufKind::u16).number<std::uint16_t>(60000);
  image.key("i16", GgufKind::i16).number<std::int16_t>(-300);
  image.key("u32", GgufKind::u32).u32(4'000'000'000);
  image.key("i32", GgufKind::i32).number<std::int32_t>(7);
  image.key("f32", GgufKind::f32).number(0.5F);
  image.key("true", GgufKind::boolean).number<std::uint8_t>(1);
  image.key("two", GgufKind::boolean).number<std::uint8_t>(2);
  image.key("text", GgufKind::string).string("words");
  image.key("u64", GgufKind::u64).u64(~std::uint64_t{0});
  image.key("i64", GgufKind::i64).number<std::int64_t>(-1);
  image.key("f64", GgufKind::f64).number(0.25);
  image.array("strings", GgufKind::string, 3).string("a").string("").string("ccc");
  image.array("ints", GgufKind::i32, 2).number<std::int32_t>(-1).number<std::int32_t>(9);
  image.array("floats", GgufKind::f32, 2).number(1.5F).number(-2.0F);
  image.array("nested", GgufKind::array, 2);
  image.u32(0).u64(1).number<std::uint8_t>(1);  // [[1], ["x"]]
  image.u32(8).u64(1).string("x");
  image.array("none", GgufKind::string, 0);
  return image;
}

// Two tensors with an alignment of 64.
GgufImage image_of_tensors() {
  GgufImage image;
  image.head(2, 1).key("general.alignment", GgufKind::u32).u32(64);
  image.tensor("matrix", {32, 2}, gguf_type_id(TensorType::Q8_0), 64);
  image.tensor("vector", {4}, gguf_type_id(TensorType::F32), 0);
  image.pad(64).number(1.0F).number(2.0F).number(3.0F).number(4.0F).pad(64).zeros(68);
  return image;
}

}  // namespace

TEST_CASE("GgufFile: integers are read in any width and sign") {
  const GgufImage image = image_of_values();
  const GgufFile file = image.parse();
  CHECK(file.version() == 3);
  CHECK(file.get_u64("u8") == 200);
  CHECK(file.get_u64("u16") == 60000);
  CHECK(file.get_u64("u32") == 4'000'000'000);
  CHECK(file.get_u64("u64") == ~std::uint64_t{0});
  CHECK(file.get_u64("i32") == 7);
  CHECK(file.find_i64("i8") == -5);
  CHECK(file.find_i64("i16") == -300);
  CHECK(file.find_i64("i64") == -1);
  CHECK(file.find_i64("u32") == 4'000'000'000);
  CHECK(file.get_f64("f32") == 0.5);
  CHECK(file.get_f64("f64") == 0.25);
  CHECK(file.get_f64("i16") == -300.0);
}

TEST_CASE("GgufFile: bools, strings and arrays") {
  const GgufImage image = image_of_values();
  const GgufFile file = image.parse();
  CHECK(file.find_bool("true") == true);
  CHECK(file.get_string("text") == "words");
  CHECK(file.get_strings("strings") == std::vector<std::string_view>{"a", "", "ccc"});
  CHECK(file.find_i64s("ints") == std::vector<std::int64_t>{-1, 9});
  CHECK(file.find_f32s("floats") == std::vector<float>{1.5F, -2.0F});
  CHECK(file.get_strings("none").empty());
  REQUIRE(file.find("nested") != nullptr);
  CHECK(file.find("nested")->count == 2);
  CHECK(file.keys().size() == 18);
  CHECK(file.keys().front() == "u8");
}

TEST_CASE("GgufFile: an absent key is nothing, and an error where it is needed") {
  const GgufImage image = image_of_values();
  const GgufFile file = image.parse();
  CHECK_FALSE(file.has("absent"));
  CHECK_FALSE(file.find_u64("absent").has_value());
  CHECK_FALSE(file.find_strings("absent").has_value());
  CHECK(bad_file_message([&] { file.get_u64("absent"); }) == "image: key 'absent' is missing");
  CHECK(bad_file_message([&] { file.get_f64("absent"); }) == "image: key 'absent' is missing");
  CHECK(bad_file_message([&] { file.get_string("absent"); }) == "image: key 'absent' is missing");
  CHECK(bad_file_message([&] { file.get_strings("absent"); }) == "image: key 'absent' is missing");
}

TEST_CASE("GgufFile: a value of another kind or out of range names the key") {
  const GgufImage image = image_of_values();
  const GgufFile file = image.parse();
  CHECK(bad_file_message([&] { file.find_u64("text"); }) ==
        "image: key 'text' is of type string, an integer was expected");
  CHECK(contains(bad_file_message([&] { file.find_u64("i8"); }), "key 'i8' is -5"));
  CHECK(contains(bad_file_message([&] { file.find_i64("u64"); }), "key 'u64' is 18446744073709551615"));
  CHECK(contains(bad_file_message([&] { file.find_bool("two"); }), "key 'two'"));
  CHECK(contains(bad_file_message([&] { file.find_bool("f32"); }), "a bool was expected"));
  CHECK(contains(bad_file_message([&] { file.find_string("u8"); }), "a string was expected"));
  CHECK(contains(bad_file_message([&] { file.find_strings("ints"); }), "is of type array of 2 i32"));
  CHECK(contains(bad_file_message([&] { file.find_i64s("strings"); }), "an array of integers was expected"));
  CHECK(contains(bad_file_message([&] { file.find_i64s("u8"); }), "an array of integers was expected"));
  CHECK(contains(bad_file_message([&] { file.find_f32s("ints"); }), "an array of f32 was expected"));
  CHECK(contains(bad_file_message([&] { file.find_f64("text"); }), "a number was expected"));
}

TEST_CASE("GgufFile: tensors have their dimensions and their bytes, by the file's alignment") {
  const GgufImage image = image_of_tensors();
  const GgufFile file = image.parse();
  REQUIRE(file.tensors().size() == 2);
  const GgufTensor* const matrix = file.find_tensor("matrix");
  REQUIRE(matrix != nullptr);
  CHECK(matrix->type == TensorType::Q8_0);
  CHECK(matrix->dimensions == 2);
  CHECK(matrix->dims == std::array<std::uint64_t, 4>{32, 2, 1, 1});
  CHECK(matrix->data.size() == 68);
  const GgufTensor* const vector = file.find_tensor("vector");
  REQUIRE(vector != nullptr);
  float first = 0;
  std::memcpy(&first, vector->data.data(), sizeof first);
  CHECK(first == 1.0F);
  CHECK(file.find_tensor("absent") == nullptr);
}

TEST_CASE("GgufFile: version 2 is read like version 3") {
  GgufImage image;
  image.head(0, 1, 2).key("k", GgufKind::u8).number<std::uint8_t>(1);
  CHECK(image.parse().version() == 2);
  CHECK(image.parse().get_u64("k") == 1);
}

namespace {

// One part of a split model, with one vector.
std::string part(std::uint16_t number, std::uint16_t count, const std::string& tensor, std::int32_t total) {
  GgufImage image;
  image.head(1, 3);
  image.key("split.no", GgufKind::u16).number(number);
  image.key("split.count", GgufKind::u16).number(count);
  image.key("split.tensors.count", GgufKind::i32).number(total);
  image.tensor(tensor, {1}, 0, 0).pad().number(static_cast<float>(number));
  return image.bytes();
}

}  // namespace

TEST_CASE("GgufFile: the first part of a split model brings in the others") {
  const TemporaryFolder folder;
  const auto first = folder.write("m-00001-of-00002.gguf", part(0, 2, "a", 2));
  const auto second = folder.write("m-00002-of-00002.gguf", part(1, 2, "b", 2));
  const GgufFile file = GgufFile::open(first);
  CHECK(file.tensors().size() == 2);
  REQUIRE(file.find_tensor("b") != nullptr);
  CHECK(file.file_bytes() == std::filesystem::file_size(first) + std::filesystem::file_size(second));
  CHECK(contains(bad_file_message([&] { GgufFile::open(second); }), "is part 2 of 2: open the first part"));
}

TEST_CASE("GgufFile: a split model with a missing, foreign or repeated part is refused") {
  const TemporaryFolder folder;
  const auto first = folder.write("m-00001-of-00002.gguf", part(0, 2, "a", 2));
  const auto message = [&] { return bad_file_message([&] { GgufFile::open(first); }); };
  CHECK(contains(message(), "m-00002-of-00002.gguf: cannot open"));
  folder.write("m-00002-of-00002.gguf", part(0, 2, "b", 2));
  CHECK(contains(message(), "does not say that it is part 2 of 2"));
  folder.write("m-00002-of-00002.gguf", part(1, 2, "a", 2));
  CHECK(contains(message(), "tensor 'a' is in an earlier part too"));
  folder.write("m-00001-of-00002.gguf", part(0, 2, "a", 3));
  folder.write("m-00002-of-00002.gguf", part(1, 2, "b", 3));
  CHECK(contains(message(), "split.tensors.count is 3"));
  const auto odd_name = folder.write("odd.gguf", part(0, 2, "a", 2));
  CHECK(contains(bad_file_message([&] { GgufFile::open(odd_name); }), "-00001-of-00002.gguf"));
}

}  // namespace baton::test
