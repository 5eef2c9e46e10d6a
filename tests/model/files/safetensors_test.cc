#include "model/files/safetensors.h"

#include <cstdint>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "tests/model/files/file_fixtures.h"

namespace baton::test {
namespace {

std::string message_of(const std::string& image) {
  return bad_file_message([&] { SafetensorsFile::parse(bytes_of(image), "image"); });
}

// A file with one tensor "t" described by `entry`, with 8 bytes of data.
std::string message_of_entry(const std::string& entry) {
  return message_of(safetensors_image(R"({"t":)" + entry + "}", "12345678"));
}

constexpr const char* kGood =
    R"({"b":{"dtype":"F32","shape":[],"data_offsets":[4,8]},)"
    R"("a":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},)"
    R"("__metadata__":{"format":"pt"},"e":{"dtype":"I64","shape":[0],"data_offsets":[8,8]}} )";

}  // namespace

TEST_CASE("SafetensorsFile: tensors come in the order of their places") {
  const std::string image = safetensors_image(kGood, "12345678");
  const SafetensorsFile file = SafetensorsFile::parse(bytes_of(image), "image");
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.tensors()[0].name == "a");
  CHECK(file.tensors()[0].type == TensorType::BF16);
  CHECK(file.tensors()[0].shape == std::vector<std::uint64_t>{2, 1});
  CHECK(static_cast<char>(file.tensors()[0].data[3]) == '4');
  CHECK(file.tensors()[1].shape.empty());
  REQUIRE(file.find_tensor("e") != nullptr);
  CHECK(file.find_tensor("e")->data.empty());
  CHECK_FALSE(file.find_tensor("e")->type.has_value());
  CHECK(file.find_tensor("__metadata__") == nullptr);
  CHECK(file.file_bytes() == image.size());
}

TEST_CASE("SafetensorsFile: a header that is none is refused") {
  CHECK(contains(message_of("123"), "has 3 bytes, too few"));
  CHECK(contains(message_of(std::string(8, '\xff')), "claims 18446744073709551615 bytes"));
  CHECK(contains(message_of(std::string("\x00\xe1\xf5\x05\x00\x00\x00\x00", 8)), "claims a header of 100000000 bytes"));
  CHECK(contains(message_of(std::string("\x01\xe1\xf5\x05\x00\x00\x00\x00", 8)), "at most 100000000"));
  CHECK(contains(message_of(safetensors_image("", "")), "does not start with '{'"));
  CHECK(contains(message_of(safetensors_image(" {}", "")), "does not start with '{'"));
  CHECK(contains(message_of(safetensors_image("{", "")), "is not valid JSON"));
  CHECK(contains(message_of(safetensors_image("{}x", "")), "is not valid JSON"));
  CHECK(message_of(safetensors_image("{}  ", "")) == "nothing was thrown");
}

TEST_CASE("SafetensorsFile: an entry with a wrong part is refused by tensor and numbers") {
  CHECK(contains(message_of_entry("3"), "tensor 't' is described by no object"));
  CHECK(contains(message_of_entry(R"({"dtype":"F31","shape":[2],"data_offsets":[0,8]})"), "unknown dtype 'F31'"));
  CHECK(contains(message_of_entry(R"({"shape":[2],"data_offsets":[0,8]})"), "unknown dtype ''"));
  CHECK(contains(message_of_entry(R"({"dtype":"F32","data_offsets":[0,8]})"), "tensor 't' has no 'shape'"));
  CHECK(contains(message_of_entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), "is no size"));
  CHECK(contains(message_of_entry(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,8]})"), "is no size"));
  CHECK(contains(message_of_entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"), "data_offsets [0] outside"));
  CHECK(contains(message_of_entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), "[8, 0] outside"));
  CHECK(contains(message_of_entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})"), "outside of the 8 bytes"));
  CHECK(contains(message_of_entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
                 "has 8 bytes, its dtype F32 and shape need 12"));
  CHECK(contains(message_of_entry(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})"),
                 "product overflows"));
}

TEST_CASE("SafetensorsFile: holes and overlaps are refused") {
  const auto two = [](const std::string& first, const std::string& second) {
    const std::string header = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
                               R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
    return message_of(safetensors_image(header, "1234"));
  };
  CHECK(two("[0,2]", "[2,4]") == "nothing was thrown");
  CHECK(contains(two("[0,2]", "[1,3]"), "tensor 'b' starts at offset 1, the data before it ends at 2"));
  CHECK(contains(two("[0,2]", "[0,2]"), "starts at offset 0, the data before it ends at 2"));
  CHECK(contains(message_of_entry(R"({"dtype":"U8","shape":[2],"data_offsets":[6,8]})"), "starts at offset 6"));
  CHECK(contains(message_of_entry(R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})"),
                 "has 8 bytes of data, its tensors end at 2"));
}

TEST_CASE("SafetensorsFile: an index brings its shards together") {
  const SafetensorsFile file =
      SafetensorsFile::open_index("tests/data/models/tiny-llama-3/model.safetensors.index.json");
  CHECK(file.tensors().size() == 21);
  CHECK(file.find_tensor("model.embed_tokens.weight") != nullptr);
  CHECK(file.find_tensor("lm_head.weight") != nullptr);
}

TEST_CASE("SafetensorsFile: an index that does not fit its shards is refused") {
  const TemporaryFolder folder;
  const std::string header = R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  folder.write("one.safetensors", safetensors_image(header, "1"));
  const auto message = [&](const std::string& index) {
    const auto path = folder.write("i.json", index);
    return bad_file_message([&] { SafetensorsFile::open_index(path); });
  };
  CHECK(message(R"({"weight_map":{"t":"one.safetensors"}})") == "nothing was thrown");
  CHECK(contains(message(R"({"weight_map":{"t":"one.safetensors","u":"one.safetensors"}})"), "names 2 tensors"));
  CHECK(contains(message(R"({"weight_map":{"u":"one.safetensors"}})"), "holds tensor 't', which the index does not"));
  CHECK(contains(message(R"({"weight_map":{"t":"../one.safetensors"}})"), "outside of its folder"));
  CHECK(contains(message(R"({"weight_map":{"t":"two.safetensors"}})"), "two.safetensors: cannot open"));
  CHECK(contains(message(R"({"weight_map":{"t":1}})"), "names no file for tensor 't'"));
  CHECK(contains(message(R"({})"), "key 'weight_map' is missing"));
}

TEST_CASE("SafetensorsFile: a file cut anywhere is refused") {
  const std::string whole = read_file("tests/data/models/tiny-qwen2/model.safetensors");
  REQUIRE(whole.size() > 10'000);
  for (std::size_t length = 0; length < whole.size(); length += length < 4'000 ? 1 : 997) {
    CAPTURE(length);
    REQUIRE(contains(message_of(whole.substr(0, length)), "image: "));
  }
  CHECK(message_of(whole) == "nothing was thrown");
}

TEST_CASE("SafetensorsFile: a file with one byte changed is read or refused, and never more") {
  std::string bytes = read_file("tests/data/models/tiny-qwen2/model.safetensors");
  std::mt19937 random(3);
  std::size_t refused = 0;
  for (std::size_t place = 0; place < 3'000; ++place) {
    const char kept = bytes[place];
    bytes[place] = static_cast<char>(random());
    const std::string message = message_of(bytes);
    REQUIRE((message == "nothing was thrown" || contains(message, "image: ")));
    refused += message == "nothing was thrown" ? 0U : 1U;
    bytes[place] = kept;
  }
  CHECK(refused > 100);
}

}  // namespace baton::test
