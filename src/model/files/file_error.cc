#include "model/files/file_error.h"

#include <cstddef>

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton {

void fail_file(const std::string& origin, const std::string& message) {
  throw Error(Errc::bad_file, fmt::format("{}: {}", origin, message));
}

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 64;
  return fmt::format("'{}{}'", printable(text.substr(0, kShown)), text.size() > kShown ? "..." : "");
}

}  // namespace baton
