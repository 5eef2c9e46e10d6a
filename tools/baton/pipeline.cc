#include "tools/baton/pipeline.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/cpu_count.h"
#include "model/engine/cpu_engine.h"
#include "model/files/model_source.h"
#include "runtime/random.h"
#include "runtime/text_file.h"
#include "sim/calibrate/logged_engine.h"
#include "tools/baton/progress.h"
#include "tools/baton/trace_file.h"

namespace baton {
namespace {

// Fewer threads than were asked for are said on stderr.
unsigned threads_for(const PipelineSettings& settings) {
  const unsigned usable = kernels::usable_cpus();
  const unsigned threads = kernels::pool_threads(settings.threads, usable);
  if (threads < settings.threads) {
    fmt::print(stderr,
               "Computing on {} thread{}, not {}: this process may use {} core{}, and more would slow it down.\n",
               threads, threads == 1 ? "" : "s", settings.threads, usable, usable == 1 ? "" : "s");
  }
  return threads;
}

ModelSource open_model(const PipelineSettings& settings) {
  if (!settings.model.empty()) {
    return ModelSource::open(settings.model);
  }
  const std::string path = default_model_path();
  if (!std::filesystem::exists(path)) {
    throw Error(Errc::not_found, fmt::format("the default model is not at {}. tools/fetch_model gets it; or name "
                                             "another one with --model FILE",
                                             path));
  }
  return ModelSource::open(path);
}

Vocabulary read_vocabulary(const ModelSource& source) {
  if (source.gguf() != nullptr) {
    return vocabulary_from_gguf(*source.gguf());
  }
  const std::filesystem::path& folder = source.directory();
  const auto read = [&folder](const char* name) {
    const std::filesystem::path path = folder / name;
    return std::filesystem::exists(path) ? read_text_file(path) : std::string();
  };
  const std::string tokenizer = read("tokenizer.json");
  if (tokenizer.empty()) {
    throw Error(Errc::not_found, fmt::format("{} has no tokenizer.json", folder.string()));
  }
  const std::string config = read("tokenizer_config.json");
  const std::string generation = read("generation_config.json");
  return vocabulary_from_hf({tokenizer, config, generation});
}

// Absent where the model has none; one that baton does not know is said on stderr, since plain completions still work.
std::optional<ChatTemplate> find_chat_template(const ModelSource& source) {
  const auto text = source.chat_template();
  if (!text) {
    return std::nullopt;
  }
  try {
    return ChatTemplate::recognise(*text);
  } catch (const Error& error) {
    fmt::print(stderr, "Chat is not to be had with this model: {}\n", error.what());
    return std::nullopt;
  }
}

TextRules text_rules(const ModelSource& source, const Tokenizer& tokenizer) {
  TextRules rules;
  rules.tokenizer = &tokenizer;
  rules.end_of_text = source.end_tokens();
  const auto more = tokenizer.end_of_generation_ids();
  rules.end_of_text.insert(rules.end_of_text.end(), more.begin(), more.end());
  std::sort(rules.end_of_text.begin(), rules.end_of_text.end());
  rules.end_of_text.erase(std::unique(rules.end_of_text.begin(), rules.end_of_text.end()), rules.end_of_text.end());
  return rules;
}

std::shared_ptr<const Weights> load_weights(const ModelSource& source, const PipelineSettings& settings,
                                            kernels::ComputePool& pool) {
  Progress progress("Loading " + source.path().filename().string());
  WeightsOptions options;
  options.numerics = settings.numerics == "exact" ? Numerics::exact : Numerics::fast;
  options.pool = &pool;
  options.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  auto weights = Weights::load(source, options);
  progress.finish(fmt::format("{:.0f} MiB in memory", static_cast<double>(weights->bytes()) / (1 << 20)));
  return weights;
}

std::uint64_t draw_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::string folder_or_stem(const std::filesystem::path& path) {
  const bool generic = path.stem() == "model" || path.filename().string().starts_with("model.safetensors");
  return generic ? std::filesystem::absolute(path).parent_path().filename().string() : path.stem().string();
}

// What a simulated cluster must have in common with this server (sim/calibrate/calibrated_cluster.h).
std::map<std::string, std::string> log_settings(const NodeConfig& config) {
  const std::uint32_t page_tokens = config.decode.admission.page_tokens;
  return {{"mode", config.aggregated ? "aggregated" : "pd"},
          {"prefill", std::to_string(config.prefill_ranks)},
          {"decode", std::to_string(config.decode_ranks)},
          {"page_tokens", std::to_string(page_tokens)},
          {"kv_tokens", std::to_string(std::uint64_t{config.decode_pages} * page_tokens)},
          {"chunk", std::to_string(config.prefill.step.step_tokens)},
          {"running", std::to_string(config.decode.running_max)},
          {"lookahead", std::to_string(config.decode.admission.lookahead_tokens)},
          {"prefix_cache", config.prefix_cache ? "true" : "false"}};
}

}  // namespace

Pipeline::Pipeline(const PipelineSettings& settings, RealContext& front, MetricsRegistry& metrics)
    : seed_(settings.seed != 0 ? settings.seed : draw_seed()) {
  make_pools(settings);
  const ModelSource source = open_model(settings);
  model_name_ = folder_or_stem(source.path());
  tokenizer_.emplace(read_vocabulary(source));
  chat_template_ = find_chat_template(source);
  weights_ = load_weights(source, settings, *pools_.front());

  CpuEngineOptions options;
  options.page_tokens = settings.page_size;
  options.kv_type = settings.numerics == "exact" ? KvType::f32 : KvType::f16;
  // A step is a prefill chunk, a decode step, or in an aggregated rank both together.
  options.rows_max = settings.chunk + settings.max_running;
  const CpuEngine sample(*pools_.front(), weights_, options);
  const NodeConfig config = node_config(settings, sample.kv_layout());
  if (!settings.step_log.empty()) {
    step_log_ = std::make_unique<sim::StepLogWriter>(settings.step_log, log_settings(config));
  }
  const auto make_engine = [&, options, epoch = front.now()](RankId rank) -> std::unique_ptr<Engine> {
    auto engine = std::make_unique<CpuEngine>(pool_of(rank, settings), weights_, options);
    if (!step_log_) {
      return engine;
    }
    return std::make_unique<sim::LoggedEngine>(rank, std::move(engine), *step_log_, epoch);
  };
  node_ = std::make_unique<LocalNode>(front, make_engine, config, text_rules(source, *tokenizer_), metrics);
}

void Pipeline::make_pools(const PipelineSettings& settings) {
  const unsigned threads = threads_for(settings);
  if (settings.compute == "shared") {
    pools_.push_back(std::make_unique<kernels::ComputePool>(threads));
    return;
  }
  const std::uint32_t ranks = settings.decode + (settings.mode == "pd" ? settings.prefill : 0);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    pools_.push_back(std::make_unique<kernels::ComputePool>(std::max(1U, threads / ranks)));
  }
}

kernels::ComputePool& Pipeline::pool_of(RankId rank, const PipelineSettings& settings) {
  const std::uint32_t before = rank.role == Role::decode ? settings.prefill : 0;
  return *pools_[(before + rank.index) % pools_.size()];
}

NodeConfig Pipeline::node_config(const PipelineSettings& settings, const KvLayout& layout) const {
  const std::uint64_t pages =
      settings.kv_tokens != 0 ? layout.pages_for(settings.kv_tokens) : settings.kv_memory / layout.page_bytes();
  constexpr std::uint64_t kPagesMax = 1ULL << 30;  // page ids are 32 bits wide
  if (pages == 0 || pages > kPagesMax) {
    throw Error(Errc::invalid_argument,
                fmt::format("KV memory of {} pages of {} bytes each cannot work; give another --kv-memory", pages,
                            layout.page_bytes()));
  }
  const std::uint32_t active = 2 * settings.max_running;  // as many again are on their way while the others run
  const std::size_t open = std::size_t{settings.decode} * (settings.max_queue + active);
  const Random random(seed_);

  NodeConfig config;
  config.aggregated = settings.mode == "aggregated";
  config.prefill_ranks = config.aggregated ? 0 : settings.prefill;
  config.decode_ranks = settings.decode;
  config.decode_pages = static_cast<std::uint32_t>(pages);
  config.copying = settings.transport == "inmemory-copy";
  config.prefill_pages = config.copying ? config.decode_pages : 0;
  config.prefix_cache = settings.prefix_cache == "on";
  config.model_hash = weights_->model_hash();
  config.seed = random.fork(1).next();
  config.trace_events = settings.trace.empty() ? 0 : kTraceEventsMax;
  config.prefill.step.step_tokens = settings.chunk;
  config.prefill.rooms_max = open;
  config.decode.running_max = settings.max_running;
  config.decode.admission.page_tokens = settings.page_size;
  config.decode.admission.active_max = active;
  config.decode.step.step_tokens = settings.chunk;
  config.decode.waiting_max = settings.max_queue;
  config.router.routing = policy::parse_routing(settings.routing).value();
  config.router.open_max = open;
  config.router.time_limit = settings.time_limit;
  config.router.seed = random.fork(2).next();
  return config;
}

std::string Pipeline::summary() const {
  const NodeConfig& config = node_->node().config();
  const std::string ranks = config.aggregated
                                ? fmt::format("{} aggregated", config.decode_ranks)
                                : fmt::format("{} prefill and {} decode", config.prefill_ranks, config.decode_ranks);
  const std::uint64_t tokens = std::uint64_t{config.decode_pages} * config.decode.admission.page_tokens;
  const unsigned threads = pools_.front()->threads();
  return fmt::format("{} rank{} on {} thread{}{}, {} KV tokens each", ranks, config.decode_ranks == 1 ? "" : "s",
                     threads, threads == 1 ? "" : "s", pools_.size() > 1 ? " each" : "", tokens);
}

}  // namespace baton
