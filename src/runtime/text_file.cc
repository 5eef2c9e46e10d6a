#include "runtime/text_file.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton {

std::string read_text_file(const std::filesystem::path& path, std::size_t bytes_max) {
  errno = 0;  // what fails below sets it, though the streams do not promise to
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 14> piece;
  while (file.is_open() && file.good() && text.size() <= bytes_max) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad()) {
    throw Error(Errc::not_found,
                fmt::format("{}: cannot be read: {}", path.string(), std::generic_category().message(errno)));
  }
  if (text.size() > bytes_max) {
    throw Error(Errc::bad_file, fmt::format("{}: has more than {} bytes", path.string(), bytes_max));
  }
  return text;
}

}  // namespace baton
