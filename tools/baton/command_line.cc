#include "tools/baton/command_line.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "runtime/errors.h"
#include "tools/baton/values.h"
#include "tools/baton/version.h"

namespace baton {
namespace {

// One command while its part of the command line is read. The strings are what the flags said.
struct Parsed {
  Command* command = nullptr;
  CLI::App* app = nullptr;
  std::map<std::string, std::vector<std::string>> flags;
  std::string config;
  bool print_settings = false;
};

std::string help_of(const Setting& setting) {
  const std::string value = setting.text();
  const bool shown = !value.empty() && !(setting.value.empty() && value == "false");
  return shown ? fmt::format("{} (default {})", setting.help, value) : setting.help;
}

void add_flags(Parsed& parsed) {
  for (const Setting& setting : parsed.command->table->all()) {
    std::vector<std::string>& given = parsed.flags[setting.name];
    const std::string flag = "--" + setting.name;
    if (setting.value.empty()) {
      parsed.app->add_flag_callback(
                    flag, [&given] { given.assign(1, "true"); }, help_of(setting))
          ->group(setting.group);
      continue;
    }
    CLI::Option* option = parsed.app->add_option(flag, given, help_of(setting));
    option->type_name(setting.value)->group(setting.group)->expected(1)->allow_extra_args(false);
    option->multi_option_policy(setting.repeatable ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::Throw);
  }
  parsed.app
      ->add_option("--config", parsed.config,
                   "a TOML file with the same settings: port = 8001, model = \"...\", ...\nFlags win over it")
      ->type_name("FILE.toml")
      ->group("Settings file");
  parsed.app
      ->add_flag("--print-settings", parsed.print_settings, "print all settings as such a file, and do nothing else")
      ->group("Settings file");
}

// The parser of a command; "model info" lies below "model", which is made with the first of its commands.
CLI::App* child(CLI::App& root, const std::string& name, const std::string& summary) {
  CLI::App* app = &root;
  std::istringstream words(name);
  for (std::string word; words >> word;) {
    const auto same = app->get_subcommands([&word](CLI::App* below) { return below->get_name() == word; });
    app = same.empty() ? app->add_subcommand(word, words.eof() ? summary : "Commands about a " + word) : same.front();
  }
  return app;
}

std::vector<std::string> known_words(const Parsed* parsed, const std::vector<Command>& commands, bool flag) {
  std::vector<std::string> words;
  if (flag && parsed != nullptr && parsed->command->table != nullptr) {
    for (const std::string& name : parsed->command->table->names()) {
      words.push_back("--" + name);
    }
    words.insert(words.end(), {"--config", "--print-settings"});
  }
  if (flag) {
    words.insert(words.end(), {"--help", "--version"});
  } else if (parsed == nullptr) {
    for (const Command& command : commands) {
      std::istringstream name(command.name);
      words.insert(words.end(), std::istream_iterator<std::string>(name), std::istream_iterator<std::string>());
    }
  }
  return words;
}

int refuse(const std::string& who, const std::string& message) {
  fmt::print(stderr, "{}: {}\n", who, message);
  return kExitBadInput;
}

// What nothing took: a flag or a word that does not exist.
int refuse_extra(const Parsed* parsed, const std::vector<Command>& commands, const std::string& extra) {
  const std::string who = parsed != nullptr ? "baton " + parsed->command->name : "baton";
  const bool flag = extra.starts_with("-");
  const std::string meant = nearest(extra.substr(0, extra.find('=')), known_words(parsed, commands, flag));
  const std::string kind = flag ? "option" : parsed == nullptr ? "command" : "argument";
  return refuse(who, fmt::format("unknown {} '{}'{} (see {} --help)", kind, extra,
                                 meant.empty() ? "" : "; did you mean '" + meant + "'?", who));
}

void apply(const Parsed& parsed) {
  SettingTable& table = *parsed.command->table;
  std::set<std::string> given;
  for (const auto& [name, values] : parsed.flags) {
    if (!values.empty()) {
      given.insert(name);
    }
  }
  if (!parsed.config.empty()) {
    table.read_file(parsed.config, given);
  }
  for (const auto& [name, values] : parsed.flags) {
    for (const std::string& value : values) {
      table.set(name, value, "--" + name);
    }
  }
}

int run_command(const Parsed& parsed) {
  const std::string who = "baton " + parsed.command->name;
  try {
    if (parsed.command->table != nullptr) {
      apply(parsed);
    }
    if (parsed.print_settings) {
      fmt::print("{}", parsed.command->table->to_toml());
      return kExitOk;
    }
    return parsed.command->run();
  } catch (const Error& error) {
    const bool input = error.errc() == Errc::invalid_argument || error.errc() == Errc::bad_file ||
                       error.errc() == Errc::not_found || error.errc() == Errc::too_large;
    const int code = refuse(who, error.what());
    return input ? code : kExitFailed;
  } catch (const std::bad_alloc&) {
    refuse(who, "out of memory");
  } catch (const std::exception& error) {
    refuse(who, error.what());
  }
  return kExitFailed;
}

}  // namespace

int run_command_line(int argc, const char* const* argv, std::vector<Command>& commands) {
  CLI::App root("Baton serves language models with prefill and decode apart.", "baton");
  root.set_version_flag("--version", std::string("baton ") + kVersion);
  root.allow_extras();
  root.footer("Each command has its own help: baton serve --help");
  std::vector<std::unique_ptr<Parsed>> parsed;
  for (Command& command : commands) {
    parsed.push_back(std::make_unique<Parsed>());
    Parsed& entry = *parsed.back();
    entry.command = &command;
    entry.app = child(root, command.name, command.summary);
    entry.app->description(command.summary);
    entry.app->allow_extras();
    entry.app->footer(command.examples);
    if (command.positional != nullptr) {
      entry.app->add_option(command.positional_name, *command.positional, command.positional_help)->required();
    }
    if (command.positionals != nullptr) {
      CLI::Option* option =
          entry.app->add_option(command.positional_name, *command.positionals, command.positional_help);
      option->required(!command.positionals_optional);
    }
    if (command.table != nullptr) {
      add_flags(entry);
    }
  }
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return root.exit(success);
  } catch (const CLI::ParseError& error) {
    return refuse("baton", fmt::format("{} (see baton --help)", error.what()));
  }
  Parsed* chosen = nullptr;
  for (const auto& entry : parsed) {
    chosen = entry->app->parsed() ? entry.get() : chosen;
  }
  const std::vector<std::string> extras = root.remaining(true);
  if (!extras.empty()) {
    return refuse_extra(chosen, commands, extras.front());
  }
  if (chosen == nullptr) {
    const auto below = root.get_subcommands();
    fmt::print(stderr, "{}", below.empty() ? root.help() : below.front()->help());
    return kExitBadInput;
  }
  return run_command(*chosen);
}

}  // namespace baton
