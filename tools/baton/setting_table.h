// The settings of a command: one table from which the flags, the file and the help text are made.
//
//   struct with defaults <--set-- SettingTable <--flags-- command line
//                                              <--keys--- FILE.toml
//
// A setting has one name: `page-size` is the key in a file and `--page-size` the flag. Flags win over the file. What no
// setting takes is an error that names the nearest one. Owner: the command; the struct outlives the table.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/time.h"

namespace baton {

struct Setting {
  std::string name;   // "page-size"
  std::string group;  // heading in the help text
  std::string value;  // what stands for the value there: "N", "FILE", "pd|aggregated"; empty: a flag without a value
  std::string help;   // one line or several

  std::function<void(const std::string&)> set;  // throws Error(invalid_argument) without the setting's name
  std::function<std::string()> text;            // the value now, as set() takes it; empty: none

  bool repeatable = false;  // may be given more than once; set() adds
  bool quoted = false;      // a file writes the value in quotes
};

class SettingTable final {
 public:
  void add(Setting setting);
  const std::vector<Setting>& all() const noexcept { return settings_; }
  std::vector<std::string> names() const;

  // Sets one; `origin` says where the value stands ("--port", "pd.toml:3") and is remembered. Throws
  // Error(invalid_argument): "ORIGIN: what is wrong". BATON_CHECKs the name.
  void set(const std::string& name, const std::string& value, const std::string& origin);

  // Sets what a TOML file holds, but for the names in `skip`, which the flags set. Throws Error(bad_file) for a file
  // that cannot be read or is no TOML, Error(invalid_argument) with file and line for an unknown key, a wrong type or a
  // wrong value.
  void read_file(const std::string& path, const std::set<std::string>& skip);

  // A file with all settings and what they are for. Reading it changes nothing. Lists are left out.
  std::string to_toml() const;

  bool given(const std::string& name) const { return origins_.contains(name); }
  const std::string& origin(const std::string& name) const { return origins_.at(name); }  // of one that was given

 private:
  const Setting* find(const std::string& name) const;

  std::vector<Setting> settings_;
  std::map<std::string, std::string> origins_;
};

// Helpers that make a setting for a field of a struct; the field outlives the setting.
struct SettingText {
  std::string name;
  std::string group;
  std::string value;
  std::string help;
};

Setting text_setting(SettingText text, std::string& field);
Setting flag_setting(SettingText text, bool& field);
Setting word_setting(SettingText text, std::string& field, std::vector<std::string> words);
Setting list_setting(SettingText text, std::vector<std::string>& field);
Setting duration_setting(SettingText text, Duration& field);

}  // namespace baton
