#include "model/files/mapped_file.h"

#include <doctest/doctest.h>

#include "tests/model/files/file_fixtures.h"

namespace baton::test {

TEST_CASE("MappedFile: shows the bytes of the file") {
  const TemporaryFolder folder;
  const auto file = MappedFile::open(folder.write("some", "abc"));
  REQUIRE(file->bytes().size() == 3);
  CHECK(static_cast<char>(file->bytes()[2]) == 'c');
  CHECK(file->path().filename() == "some");
}

TEST_CASE("MappedFile: a mapping outlives the name of its file") {
  const TemporaryFolder folder;
  const auto path = folder.write("some", "abc");
  const auto file = MappedFile::open(path);
  std::filesystem::remove(path);
  CHECK(static_cast<char>(file->bytes()[0]) == 'a');
}

TEST_CASE("MappedFile: what cannot be mapped is refused by name and reason") {
  const TemporaryFolder folder;
  const auto message = [&](const std::filesystem::path& path) {
    return bad_file_message([&] { MappedFile::open(path); });
  };
  const std::string absent = message(folder.path() / "absent");
  CHECK(contains(absent, to_string(Errc::not_found)));
  CHECK(contains(absent, "absent: cannot open: No such file"));
  CHECK(contains(message(folder.write("file", "x") / "below"), to_string(Errc::not_found)));
  CHECK(contains(message(folder.write("empty", "")), "empty: is empty"));
  CHECK(contains(message(folder.path()), "is a directory"));
  CHECK(contains(message("/dev/null"), "is not a regular file"));
}

}  // namespace baton::test
