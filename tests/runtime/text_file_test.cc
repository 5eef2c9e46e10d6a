#include "runtime/text_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "runtime/errors.h"

namespace baton::test {
namespace {

// The code and the words of what read_text_file throws.
std::pair<Errc, std::string> refusal(const std::filesystem::path& path, std::size_t bytes_max) {
  try {
    read_text_file(path, bytes_max);
  } catch (const Error& error) {
    return {error.errc(), error.what()};
  }
  return {};
}

}  // namespace

TEST_CASE("read_text_file: gives every byte, or refuses by name what is missing, too large or no file") {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "baton_text_file_test";
  const std::string text = std::string("a\0\r\n\xff", 5) + std::string(40'000, 'x');
  std::ofstream(path, std::ios::binary) << text;
  CHECK(read_text_file(path) == text);
  CHECK(read_text_file(path, text.size()) == text);
  CHECK(refusal(path, text.size() - 1) == std::pair(Errc::bad_file, path.string() + ": has more than 40004 bytes"));
  std::filesystem::remove(path);
  CHECK(refusal(path, 1) == std::pair(Errc::not_found, path.string() + ": cannot be read: No such file or directory"));
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  CHECK(refusal(folder, 1) == std::pair(Errc::not_found, folder.string() + ": cannot be read: Is a directory"));
  CHECK(refusal("/dev/zero", 1 << 20).first == Errc::bad_file);
}

}  // namespace baton::test
