#include "tools/baton/settings.h"

#include <concepts>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "roles/request_log_fields.h"
#include "runtime/errors.h"
#include "tools/baton/trace_file.h"
#include "tools/baton/values.h"

namespace baton {
namespace {

template <std::unsigned_integral Number>
Setting count_setting(SettingText text, Number& field, NumberBounds bounds) {
  return {std::move(text.name),
          std::move(text.group),
          std::move(text.value),
          std::move(text.help),
          [&field, bounds](const std::string& value) { field = static_cast<Number>(parse_count(value, bounds)); },
          [&field] { return std::to_string(field); }};
}

Setting real_setting(SettingText text, double& field, RealBounds bounds) {
  return {std::move(text.name),
          std::move(text.group),
          std::move(text.value),
          std::move(text.help),
          [&field, bounds](const std::string& value) { field = parse_real(value, bounds); },
          [&field] { return fmt::format("{:g}", field); }};
}

Setting bytes_setting(SettingText text, std::uint64_t& field) {
  Setting setting{std::move(text.name),
                  std::move(text.group),
                  std::move(text.value),
                  std::move(text.help),
                  [&field](const std::string& value) { field = parse_bytes(value); },
                  [&field] { return bytes_text(field); }};
  setting.quoted = true;
  return setting;
}

[[noreturn]] void refuse(const SettingTable& table, const std::string& name, const std::string& why) {
  throw Error(Errc::invalid_argument, fmt::format("{}: {}", table.origin(name), why));
}

}  // namespace

void add_settings(SettingTable& table, PipelineSettings& settings) {
  const std::string model = "Model";
  table.add(text_setting({"model", model, "FILE",
                          "GGUF file, safetensors file, or a folder with one of them.\n"
                          "Default: the model that tools/fetch_model gets"},
                         settings.model));
  table.add(word_setting({"numerics", model, "", "fast: quantised weights stay so; exact: f32, slow, the oracle"},
                         settings.numerics, {"fast", "exact"}));

  const std::string ranks = "Ranks";
  table.add(word_setting({"mode", ranks, "", "pd: prefill and decode apart; aggregated: ranks that do both"},
                         settings.mode, {"pd", "aggregated"}));
  table.add(count_setting({"prefill", ranks, "N", "prefill ranks"}, settings.prefill, {1, 64}));
  table.add(count_setting({"decode", ranks, "N", "decode ranks; with --mode aggregated all ranks"}, settings.decode,
                          {1, 64}));
  table.add(word_setting({"routing", ranks, "", "which rank of a kind gets the next request"}, settings.routing,
                         {"round-robin", "random", "least-loaded", "power-of-two", "prefix-aware"}));
  table.add(word_setting({"transport", ranks, "",
                          "inmemory: the hand-over moves pages without a copy;\n"
                          "inmemory-copy: ranks with arenas of their own"},
                         settings.transport, {"inmemory", "inmemory-copy"}));
  table.add(
      word_setting({"prefix-cache", ranks, "", "on: what was computed of a prompt serves later ones that begin alike"},
                   settings.prefix_cache, {"on", "off"}));
  table.add(word_setting({"device", ranks, "", "what the ranks compute on"}, settings.device, {"cpu"}));
  table.add(count_setting({"threads", ranks, "N",
                           "compute threads of all ranks together, at most one for each core\n"
                           "that this process may use; 0: as many as that"},
                          settings.threads, {0, 1024}));
  table.add(word_setting({"compute", ranks, "",
                          "shared: a step has all threads, and others wait for it;\n"
                          "apart: the threads are dealt out to the ranks, one each at least"},
                         settings.compute, {"shared", "apart"}));

  const std::string memory = "Batching and memory";
  table.add(
      count_setting({"page-size", memory, "N", "tokens of one KV page: 1, 16, 32 or 64"}, settings.page_size, {1, 64}));
  table.add(bytes_setting({"kv-memory", memory, "BYTES", "KV memory of each decode rank: 512MiB, 4GiB, ..."},
                          settings.kv_memory));
  table.add(count_setting({"kv-tokens", memory, "N", "the same in tokens, in place of --kv-memory; 0: not used"},
                          settings.kv_tokens, {0, std::numeric_limits<std::uint32_t>::max()}));
  table.add(count_setting({"chunk", memory, "N", "tokens of one prefill step"}, settings.chunk, {1, 65536}));
  table.add(count_setting({"max-running", memory, "N", "sequences that one decode rank generates for at once"},
                          settings.max_running, {1, 4096}));
  table.add(
      count_setting({"max-queue", memory, "N", "requests that may wait for KV pages, per decode rank; more get 429"},
                    settings.max_queue, {1, 1'000'000}));
  table.add(duration_setting({"time-limit", memory, "TIME", "for a whole request, on both legs: 30s, 2m, ..."},
                             settings.time_limit));
  table.add(count_setting({"seed", memory, "N", "of all random choices; 0: another one at every start"}, settings.seed,
                          {0, std::numeric_limits<std::uint64_t>::max()}));

  table.add(text_setting({"trace", "Diagnosis", "FILE",
                          fmt::format("write at the end what every rank did, its last {} events, as JSON\n"
                                      "for ui.perfetto.dev or chrome://tracing",
                                      kTraceEventsMax)},
                         settings.trace));
  table.add(text_setting({"step-log", "Diagnosis", "FILE",
                          "write a line for every engine step (CSV); `baton sim --calibrate` fits a cost model to it"},
                         settings.step_log));
}

void add_settings(SettingTable& table, ServerSettings& settings) {
  const std::string server = "Server";
  table.add(
      text_setting({"host", server, "ADDRESS", "address to listen on; 0.0.0.0: all of the machine's"}, settings.host));
  table.add(count_setting({"port", server, "N", "port to listen on; 0: any free one, which is then printed"},
                          settings.port, {0, 65535}));
  table.add(text_setting({"served-name", server, "NAME",
                          "what clients call the model.\n"
                          "Default: its file's name"},
                         settings.served_name));
  table.add(duration_setting(
      {"drain-seconds", server, "TIME", "on the first Ctrl-C or SIGTERM: how long running requests may still take"},
      settings.drain));
  table.add(text_setting({"request-log", "Diagnosis", "FILE",
                          "a line for every request that has ended, with its times and tokens;\n"
                          "CSV or JSONL by the file's name: .csv, .jsonl"},
                         settings.request_log));
}

void add_settings(SettingTable& table, GenerateSettings& settings) {
  const std::string text = "Text";
  table.add(
      text_setting({"prompt", text, "TEXT", "what to continue; with --chat the user's message.\n-: read it from stdin"},
                   settings.prompt));
  table.add(flag_setting({"chat", text, "", "put the prompt into the model's chat template"}, settings.chat));
  table.add(text_setting({"system", text, "TEXT", "with --chat: the system message"}, settings.system));
  table.add(count_setting({"max-tokens", text, "N", "tokens to generate at most"}, settings.max_tokens, {1, 1 << 20}));
  table.add(list_setting({"stop", text, "TEXT", "end before this text; may be given several times"}, settings.stop));
  table.add(flag_setting({"ignore-eos", text, "", "go on after an end-of-text token"}, settings.ignore_eos));
  table.add(flag_setting({"json", text, "", "print the timeline as one line of JSON"}, settings.json));

  const std::string sampling = "Sampling";
  table.add(
      real_setting({"temperature", sampling, "X", "0: always the likeliest token"}, settings.temperature, {0, 100}));
  table.add(count_setting({"top-k", sampling, "N", "draw from the N likeliest tokens; 0: from all"}, settings.top_k,
                          {0, 1 << 20}));
  table.add(real_setting({"top-p", sampling, "X", "draw from the likeliest tokens that together reach X"},
                         settings.top_p, {0, 1}));
  table.add(real_setting({"min-p", sampling, "X", "leave out tokens less likely than X times the likeliest"},
                         settings.min_p, {0, 1}));
  table.add(real_setting({"repetition-penalty", sampling, "X", "above 1: make tokens that occurred less likely"},
                         settings.repetition_penalty, {0.01, 100}));
}

void check(const SettingTable& table, const PipelineSettings& settings) {
  if (settings.mode == "aggregated") {
    for (const char* name : {"prefill", "transport"}) {
      if (table.given(name)) {
        refuse(table, name, "has no use with --mode aggregated, where every rank does prefill and decode");
      }
    }
  }
  if (settings.routing == "prefix-aware" && settings.prefix_cache == "off") {
    refuse(table, "routing", "prefix-aware needs the prefix cache, which is off");
  }
  if (table.given("kv-memory") && table.given("kv-tokens")) {
    refuse(table, "kv-tokens", fmt::format("says the same as {}; give one of them", table.origin("kv-memory")));
  }
  if (settings.kv_tokens == 0 && settings.kv_memory == 0) {
    refuse(table, "kv-memory", "a decode rank needs KV memory");
  }
  if (settings.page_size != 1 && settings.page_size != 16 && settings.page_size != 32 && settings.page_size != 64) {
    refuse(table, "page-size", "pages hold 1, 16, 32 or 64 tokens");
  }
  if (settings.time_limit <= Duration::zero()) {
    refuse(table, "time-limit", "a request needs some time");
  }
  if (const std::string reason = why_not_writable(settings.step_log); !reason.empty()) {
    refuse(table, "step-log", fmt::format("cannot write {}: {}", settings.step_log, reason));
  }
  if (const std::string reason = why_not_writable(settings.trace); !reason.empty()) {
    refuse(table, "trace", fmt::format("cannot write {}: {}", settings.trace, reason));
  }
}

void check(const SettingTable& table, const ServerSettings& settings) {
  if (settings.request_log.empty()) {
    return;
  }
  if (!request_log_format(settings.request_log)) {
    refuse(table, "request-log", fmt::format("{} ends in neither .csv nor .jsonl", settings.request_log));
  }
  if (const std::string reason = why_not_writable(settings.request_log); !reason.empty()) {
    refuse(table, "request-log", fmt::format("cannot write {}: {}", settings.request_log, reason));
  }
}

void check(const SettingTable& table, const GenerateSettings& settings) {
  if (!table.given("prompt")) {
    throw Error(Errc::invalid_argument, "give the text to continue with --prompt \"...\" (or --prompt - for stdin)");
  }
  if (table.given("system") && !settings.chat) {
    refuse(table, "system", "has no use without --chat");
  }
  if (settings.temperature == 0) {
    for (const char* name : {"top-k", "top-p", "min-p"}) {
      if (table.given(name)) {
        refuse(table, name, "has no use without --temperature above 0, since the likeliest token is taken then");
      }
    }
  }
}

std::string default_model_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string folder =
      cache != nullptr && *cache != '\0' ? std::string(cache) : (home != nullptr ? std::string(home) : ".") + "/.cache";
  return folder + "/baton/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

}  // namespace baton
