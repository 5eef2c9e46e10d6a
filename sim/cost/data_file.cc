#include "sim/cost/data_file.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "runtime/text_file.h"

namespace baton::sim {
namespace {

std::string_view folder_of(DataKind kind) {
  return kind == DataKind::hardware ? "hardware" : "models";
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

}  // namespace

DataFile find_data_file(DataKind kind, const std::string& name_or_path) {
  if (name_or_path.ends_with(".toml") || name_or_path.find('/') != std::string::npos) {
    return {name_or_path, read_text_file(name_or_path)};
  }
  const std::string wanted = lower(name_or_path);
  for (const EmbeddedFile& file : std::span(kEmbeddedFiles, kEmbeddedFileCount)) {
    if (file.kind == folder_of(kind) && file.name == wanted) {
      return {fmt::format("data/{}/{}.toml", file.kind, file.name), std::string(file.text)};
    }
  }
  throw Error(Errc::not_found, fmt::format("there is no {} '{}'; known are {}, and files by their path",
                                           kind == DataKind::hardware ? "hardware" : "model", name_or_path,
                                           fmt::join(data_names(kind), ", ")));
}

std::vector<std::string> data_names(DataKind kind) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : std::span(kEmbeddedFiles, kEmbeddedFileCount)) {
    if (file.kind == folder_of(kind)) {
      names.emplace_back(file.name);
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace baton::sim
