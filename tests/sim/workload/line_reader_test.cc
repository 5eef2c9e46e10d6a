#include "sim/workload/line_reader.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;

std::vector<std::string> lines_of(std::string_view text) {
  LineReader reader(input_of_text(text, "t"));
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line)) {
    lines.emplace_back(line);
  }
  return lines;
}

std::string gzipped(std::string_view text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  std::string copy(text);
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

using Lines = std::vector<std::string>;

TEST_CASE("LineReader: LF, CRLF, a byte order mark, and a last line without an end") {
  CHECK(lines_of("a\nb\n") == Lines{"a", "b"});
  CHECK(lines_of("a\r\nb") == Lines{"a", "b"});
  CHECK(lines_of("\xef\xbb\xbf"
                 "a\n\nb") == Lines{"a", "", "b"});
  CHECK(lines_of("").empty());
  CHECK(lines_of("\n") == Lines{""});
}

TEST_CASE("LineReader: lines longer than its buffer are whole") {
  const std::string one(700'000, 'x');
  const std::string two(300'001, 'y');
  CHECK(lines_of(one + "\n" + two + "\nz") == Lines{one, two, "z"});
}

TEST_CASE("LineReader: a line given back comes again with its number") {
  LineReader reader(input_of_text("a\nb\n", "t"));
  std::string_view line;
  REQUIRE(reader.next(line));
  reader.unread();
  REQUIRE(reader.next(line));
  CHECK(line == "a");
  CHECK(reader.number() == 1);
  REQUIRE(reader.next(line));
  CHECK(line == "b");
  CHECK(reader.number() == 2);
}

TEST_CASE("ByteInput: gzip is undone, also in several members") {
  CHECK(lines_of(gzipped("a\nb\n")) == Lines{"a", "b"});
  CHECK(lines_of(gzipped("a\nb") + gzipped("c\nd")) == Lines{"a", "bc", "d"});
  const std::string large(1'000'000, 'q');
  CHECK(lines_of(gzipped(large)) == Lines{large});
}

TEST_CASE("ByteInput: torn or broken gzip is refused") {
  const std::string packed = gzipped(std::string(5000, 'a') + "\nb");
  for (std::size_t size = 2; size < packed.size(); ++size) {
    CHECK(refusal([&] { lines_of(packed.substr(0, size)); }) == "t: the compressed data ends too early");
  }
  CHECK(refusal([&] { lines_of(packed + "rest"); }).starts_with("t: the compressed data is broken"));
  std::string bent = packed;
  bent[bent.size() - 6] = static_cast<char>(bent[bent.size() - 6] ^ 1);  // the checksum
  CHECK(refusal([&] { lines_of(bent); }) == "t: the compressed data is broken: incorrect data check");
}

TEST_CASE("ByteInput: a file that is not there, and a folder") {
  CHECK(refusal([] { open_input("no/such/file"); }) == "no/such/file: cannot be opened: No such file or directory");
  CHECK(refusal([] { open_input("tests"); }) == "tests: is a folder");
}

}  // namespace
