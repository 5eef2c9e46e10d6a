// Small files as a whole: settings, scripts, tables, the JSON beside a model. Weights and traces are read otherwise.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace baton {

// More than any file that is read so should have; keeps a wrong path (/dev/zero) from eating the memory.
inline constexpr std::size_t kTextFileBytesMax = std::size_t{256} << 20;

// What is in the file, byte for byte; pipes can be read as well. Throws Error that names it: not_found where it cannot
// be read, bad_file where it has more than `bytes_max` bytes. Any thread.
std::string read_text_file(const std::filesystem::path& path, std::size_t bytes_max = kTextFileBytesMax);

}  // namespace baton
