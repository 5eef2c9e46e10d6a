// The tables of data/ (hardware, models), compiled into the program so that it stands alone, or a file of the user's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton::sim {

enum class DataKind : std::uint8_t { hardware, model };

struct DataFile {
  std::string place;  // for messages: the path, or data/hardware/h100.toml
  std::string text;
};

// A path if the name ends in .toml or has a slash; else one of ours, upper and lower case alike. Throws
// Error(not_found) that lists what there is, or names the file that cannot be read.
DataFile find_data_file(DataKind kind, const std::string& name_or_path);

// The names of ours, in alphabetical order.
std::vector<std::string> data_names(DataKind kind);

// What the build made of data/: see data/embed.cmake.
struct EmbeddedFile {
  std::string_view kind;  // "hardware", "models"
  std::string_view name;  // without .toml
  std::string_view text;
};
extern const EmbeddedFile kEmbeddedFiles[];
extern const std::size_t kEmbeddedFileCount;

}  // namespace baton::sim
