// What the commands can be told, with the defaults that --help shows.
//
// Each struct has a function that puts its fields into a SettingTable; check() refuses combinations in which a setting
// that was given would do nothing. Numbers that a struct holds have passed their bounds already.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/time.h"
#include "tools/baton/setting_table.h"

namespace baton {

// The model and the ranks: what `serve` and `generate` share.
struct PipelineSettings {
  std::string model;  // empty: the default model in the user's cache folder
  std::string device = "cpu";
  std::uint32_t threads = 0;  // 0: what the machine and its limits allow, which is the most in any case
  std::string compute = "shared";
  std::string numerics = "fast";

  std::string mode = "pd";
  std::uint32_t prefill = 1;  // ranks
  std::uint32_t decode = 1;   // ranks
  std::string transport = "inmemory";
  std::string routing = "least-loaded";
  std::string prefix_cache = "on";

  std::uint32_t page_size = 16;          // tokens
  std::uint32_t chunk = 256;             // tokens of one prefill step
  std::uint64_t kv_memory = 1ULL << 30;  // bytes per decode rank
  std::uint32_t kv_tokens = 0;           // per decode rank; 0: kv_memory decides
  std::uint32_t max_running = 64;        // sequences of one decode step
  std::uint32_t max_queue = 256;         // requests that wait for pages, per decode rank
  Duration time_limit = std::chrono::minutes(10);
  std::uint64_t seed = 0;  // 0: drawn from the system
  std::string trace;       // file for what the ranks did; empty: none
  std::string step_log;    // file for a line of each engine step; empty: none
};

struct ServerSettings {
  std::string served_name;  // empty: the model file's name
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;
  Duration drain = std::chrono::seconds(30);
  std::string request_log;  // file for a line of each request; empty: none
};

struct GenerateSettings {
  std::string prompt;
  bool chat = false;
  std::string system;  // with --chat: the system message; empty: what the model's template says
  std::uint32_t max_tokens = 128;
  double temperature = 0;
  std::uint32_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  bool json = false;  // the timeline as one line of JSON
};

void add_settings(SettingTable& table, PipelineSettings& settings);
void add_settings(SettingTable& table, ServerSettings& settings);
void add_settings(SettingTable& table, GenerateSettings& settings);

// Throws Error(invalid_argument) naming the setting and where it stands when one that was given has no use beside the
// others, or two contradict each other.
void check(const SettingTable& table, const PipelineSettings& settings);
void check(const SettingTable& table, const ServerSettings& settings);
void check(const SettingTable& table, const GenerateSettings& settings);

// Where tools/fetch_model puts the default model: ${XDG_CACHE_HOME:-~/.cache}/baton/models/...
std::string default_model_path();

}  // namespace baton
