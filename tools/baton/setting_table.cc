#include "tools/baton/setting_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/errors.h"
#include "tools/baton/toml_file.h"
#include "tools/baton/values.h"

namespace baton {

void SettingTable::add(Setting setting) {
  BATON_CHECK(find(setting.name) == nullptr, setting.name);
  settings_.push_back(std::move(setting));
}

std::vector<std::string> SettingTable::names() const {
  std::vector<std::string> names;
  for (const Setting& setting : settings_) {
    names.push_back(setting.name);
  }
  return names;
}

const Setting* SettingTable::find(const std::string& name) const {
  const auto found = std::find_if(settings_.begin(), settings_.end(),
                                  [&name](const Setting& setting) { return setting.name == name; });
  return found == settings_.end() ? nullptr : &*found;
}

void SettingTable::set(const std::string& name, const std::string& value, const std::string& origin) {
  const Setting* setting = find(name);
  BATON_CHECK(setting != nullptr, name);
  try {
    setting->set(value);
  } catch (const Error& error) {
    throw Error(Errc::invalid_argument, fmt::format("{}: {}", origin, error.what()));
  }
  origins_[name] = origin;
}

void SettingTable::read_file(const std::string& path, const std::set<std::string>& skip) {
  for (const TomlEntry& entry : read_toml(path)) {
    const std::string origin = fmt::format("{}:{}: {}", path, entry.line, entry.key);
    const Setting* setting = find(entry.key);
    if (setting == nullptr) {
      const std::string meant = nearest(entry.key, names());
      throw Error(Errc::invalid_argument, fmt::format("{}:{}: unknown setting '{}'{}", path, entry.line, entry.key,
                                                      meant.empty() ? "" : "; did you mean '" + meant + "'?"));
    }
    if (entry.is_list && !setting->repeatable) {
      throw Error(Errc::invalid_argument, fmt::format("{}: a list, but the setting takes one value", origin));
    }
    if (skip.contains(entry.key)) {
      continue;
    }
    for (const std::string& value : entry.values) {
      set(entry.key, value, origin);
    }
  }
}

std::string SettingTable::to_toml() const {
  std::string file;
  std::string group;
  for (const Setting& setting : settings_) {
    if (setting.repeatable) {
      continue;
    }
    if (setting.group != group) {
      group = setting.group;
      file += fmt::format("{}# {}\n", file.empty() ? "" : "\n", group);
    }
    const std::string value = setting.text();
    const std::string help = setting.help.substr(0, setting.help.find('\n'));
    // An empty value stands for a default that is found at start; written out it would be another setting.
    file += fmt::format("{}{} = {}  # {}\n", value.empty() ? "# " : "", setting.name,
                        setting.quoted ? toml_quoted(value) : value, help);
  }
  return file;
}

Setting text_setting(SettingText text, std::string& field) {
  Setting setting{std::move(text.name),
                  std::move(text.group),
                  std::move(text.value),
                  std::move(text.help),
                  [&field](const std::string& value) { field = value; },
                  [&field] { return field; }};
  setting.quoted = true;
  return setting;
}

Setting flag_setting(SettingText text, bool& field) {
  return {std::move(text.name),
          std::move(text.group),
          "",
          std::move(text.help),
          [&field](const std::string& value) { field = parse_flag(value); },
          [&field] { return std::string(field ? "true" : "false"); }};
}

Setting word_setting(SettingText text, std::string& field, std::vector<std::string> words) {
  text.value = joined_words(words);
  Setting setting = text_setting(std::move(text), field);
  setting.set = [&field, words = std::move(words)](const std::string& given) { field = parse_word(given, words); };
  return setting;
}

Setting list_setting(SettingText text, std::vector<std::string>& field) {
  Setting setting{std::move(text.name),
                  std::move(text.group),
                  std::move(text.value),
                  std::move(text.help),
                  [&field](const std::string& value) { field.push_back(value); },
                  [] { return std::string(); }};
  setting.repeatable = true;
  return setting;
}

Setting duration_setting(SettingText text, Duration& field) {
  Setting setting{std::move(text.name),
                  std::move(text.group),
                  std::move(text.value),
                  std::move(text.help),
                  [&field](const std::string& value) { field = parse_duration(value); },
                  [&field] { return duration_text(field); }};
  setting.quoted = true;
  return setting;
}

}  // namespace baton
