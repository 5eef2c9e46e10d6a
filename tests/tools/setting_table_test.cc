#include "tools/baton/setting_table.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "runtime/errors.h"

namespace baton {
namespace {

// A file that is gone with the test.
class TemporaryFile final {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("baton-setting-" + std::to_string(::getpid()) + ".toml")) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Sample {
  std::string model;
  std::string mode = "pd";
  bool chat = false;
  std::vector<std::string> stop;
  SettingTable table;

  Sample() {
    table.add(text_setting({"model", "Model", "FILE", "the model"}, model));
    table.add(word_setting({"mode", "Ranks", "", "the mode"}, mode, {"pd", "aggregated"}));
    table.add(flag_setting({"chat", "Text", "", "chat"}, chat));
    table.add(list_setting({"stop", "Text", "TEXT", "stop"}, stop));
  }

  std::string refusal(const std::string& text) {
    const TemporaryFile file(text);
    try {
      table.read_file(file.path(), {});
    } catch (const Error& error) {
      const std::string message = error.what();
      REQUIRE(message.starts_with(file.path()));
      return message.substr(file.path().size());
    }
    return "";
  }
};

TEST_CASE("SettingTable: a file sets what its keys name") {
  Sample sample;
  const TemporaryFile file("model = \"m.gguf\"\nmode = 'aggregated'\nchat = true\nstop = [\"a\", \"b\"]\n");
  sample.table.read_file(file.path(), {});
  CHECK(sample.model == "m.gguf");
  CHECK(sample.mode == "aggregated");
  CHECK(sample.chat);
  CHECK(sample.stop == std::vector<std::string>{"a", "b"});
  CHECK(sample.table.given("mode"));
  CHECK(sample.table.origin("mode") == file.path() + ":2: mode");
}

TEST_CASE("SettingTable: a file leaves alone what flags set") {
  Sample sample;
  const TemporaryFile file("model = \"m.gguf\"\nmode = 'aggregated'\n");
  sample.table.read_file(file.path(), {"mode"});
  CHECK(sample.model == "m.gguf");
  CHECK(sample.mode == "pd");
  CHECK_FALSE(sample.table.given("mode"));
}

TEST_CASE("SettingTable: bad files are refused with line and key") {
  Sample sample;
  CHECK(sample.refusal("model = 'm'\nmoed = 'pd'\n") == ":2: unknown setting 'moed'; did you mean 'mode'?");
  CHECK(sample.refusal("mode = 'both'\n") == ":1: mode: 'both' is not one of pd|aggregated");
  CHECK(sample.refusal("chat = 'yes'\n") == ":1: chat: 'yes' is not true or false");
  CHECK(sample.refusal("mode = ['pd']\n") == ":1: mode: a list, but the setting takes one value");
  CHECK(sample.refusal("[model]\nfile = 'm'\n").starts_with(":1: model: a value is a word, a number, true or false"));
  CHECK(sample.refusal("model = 1979-05-27\n").starts_with(":1: model: a value is a word"));
  CHECK(sample.refusal("model = \n").starts_with(":1: "));
  CHECK(sample.refusal("model = 'a'\nmodel = 'b'\n").starts_with(":2: "));
}

TEST_CASE("SettingTable: a file that is not there is refused with its path") {
  Sample sample;
  CHECK_THROWS_AS(sample.table.read_file("/nowhere/pd.toml", {}), Error);
}

TEST_CASE("SettingTable: its own file changes nothing when it is read") {
  Sample sample;
  sample.model = "with \"quotes\" and \\ backslash";
  const std::string text = sample.table.to_toml();
  Sample other;
  const TemporaryFile file(text);
  other.table.read_file(file.path(), {});
  CHECK(other.model == sample.model);
  CHECK(other.table.to_toml() == text);
}

TEST_CASE("SettingTable: a wrong value names where it stands") {
  Sample sample;
  CHECK_THROWS_WITH_AS(sample.table.set("mode", "x", "--mode"), "--mode: 'x' is not one of pd|aggregated", Error);
}

}  // namespace
}  // namespace baton
