// bench_engine: tokens per second of the CPU engine on one model, by prompt length, batch and context depth.
//
//   pN    prefill of one prompt of N random tokens in chunks, the last one sampled
//   BxD   decode of B sequences, each with D positions of keys and values of its own, 32 sampled steps
//
// Prints a table or JSON; tools/bench_vs_llama.py puts it beside llama.cpp. --busy-neighbour shows how much is left
// when another process takes a core. Speed depends on what else runs: repeat, and compare within one run.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/compute_pool.h"
#include "kernels/cpu_count.h"
#include "kernels/huge_buffer.h"
#include "model/engine/forward.h"
#include "model/engine/weights.h"
#include "model/text/sampling.h"
#include "runtime/errors.h"

namespace baton {
namespace {

constexpr std::uint32_t kDecodeSteps = 32;

struct Settings {
  std::string model;
  std::string points = "p128,p512,p2048,1x0,4x0,16x0,32x0,1x512,1x2048,16x512";
  unsigned threads = 0;
  unsigned ranks = 1;
  unsigned repeat = 3;
  std::uint32_t chunk = 512;
  std::uint32_t page_tokens = 16;
  bool exact = false;
  bool json = false;
  bool profile = false;
  bool busy_neighbour = false;
  bool oversubscribe = false;
  bool cpu_time = false;
};

// Seconds since some fixed moment: of the wall clock, or of processor time of all threads of this process.
double seconds_now(const Settings& settings) {
  std::timespec now{};
  ::clock_gettime(settings.cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Point {
  std::string name;
  bool prefill = false;
  std::uint32_t batch = 1;
  std::uint32_t length = 0;  // prompt tokens, or depth
};

Point parse_point(const std::string& text) {
  Point point;
  point.name = text;
  point.prefill = text.starts_with('p');
  const std::size_t cross = text.find('x');
  if (!point.prefill && cross == std::string::npos) {
    throw Error(Errc::invalid_argument, fmt::format("{} is no point: p512 or 16x512 are", text));
  }
  if (point.prefill) {
    point.length = static_cast<std::uint32_t>(std::stoul(text.substr(1)));
  } else {
    point.batch = static_cast<std::uint32_t>(std::stoul(text.substr(0, cross)));
    point.length = static_cast<std::uint32_t>(std::stoul(text.substr(cross + 1)));
  }
  return point;
}

std::vector<Point> parse_points(const std::string& text) {
  std::vector<Point> points;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    points.push_back(parse_point(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return points;
}

// One rank's sequences in an arena of its own; steps are submitted as the engine does it.
class Rank final {
 public:
  Rank(kernels::ComputePool& pool, const Weights& weights, const Settings& settings, const Point& point)
      : pool_(pool), weights_(weights), settings_(settings), point_(point) {
    const ModelShape& shape = weights.shape();
    layout_ = {shape.layers, shape.kv_heads, shape.head_dim, settings.page_tokens, KvType::f16};
    pages_each_ = layout_.pages_for(point.length + (point.prefill ? 0 : kDecodeSteps + 1));
    arena_ = kernels::HugeBuffer(layout_.page_bytes() * pages_each_ * point.batch);
    pages_.resize(std::size_t{pages_each_} * point.batch);
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      pages_[i] = static_cast<PageId>(i);
    }
    greedy_.temperature = 0.0F;
  }

  // Tokens per second of the point's work, without what prepares it.
  double measure(Profile* profile) { return point_.prefill ? measure_prefill(profile) : measure_decode(profile); }

 private:
  double measure_prefill(Profile* profile) {
    const double begin = seconds_now(settings_);
    prefill(point_.length, profile);
    return point_.length / (seconds_now(settings_) - begin);
  }

  double measure_decode(Profile* profile) {
    prefill(point_.length, nullptr);
    const std::size_t sequence_bytes = layout_.page_bytes() * pages_each_;
    for (std::size_t i = 1; i < point_.batch; ++i) {
      std::memcpy(arena_.data() + i * sequence_bytes, arena_.data(), sequence_bytes);
    }
    decode(0, nullptr);  // warms up
    const double begin = seconds_now(settings_);
    for (std::uint32_t step = 1; step <= kDecodeSteps; ++step) {
      decode(step, profile);
    }
    return point_.batch * kDecodeSteps / (seconds_now(settings_) - begin);
  }

  void prefill(std::uint32_t length, Profile* profile) {
    const std::vector<TokenId> tokens = random_tokens(length);
    for (std::uint32_t first = 0; first < length; first += settings_.chunk) {
      const std::uint32_t count = std::min(settings_.chunk, length - first);
      const bool last = first + count == length;
      const std::vector<ForwardSequence> sequences = {
          {std::span(tokens).subspan(first, count), first, arena_.data(), pages_.data(), last}};
      step(kernels::Priority::prefill, sequences, profile);
    }
  }

  void decode(std::uint32_t index, Profile* profile) {
    const std::vector<TokenId> tokens = random_tokens(point_.batch);
    std::vector<ForwardSequence> sequences;
    for (std::size_t i = 0; i < point_.batch; ++i) {
      sequences.push_back({std::span(tokens).subspan(i, 1), point_.length + index, arena_.data(),
                           pages_.data() + i * pages_each_, true});
    }
    step(kernels::Priority::decode, sequences, profile);
  }

  void step(kernels::Priority priority, const std::vector<ForwardSequence>& sequences, Profile* profile) {
    const std::size_t vocab = weights_.shape().vocab;
    const auto compute = [&](kernels::Lane& lane) {
      const LogitsSink sink = [&](std::size_t, std::size_t count, const float* logits) {
        lane.parallel_for(static_cast<unsigned>(count), [&](unsigned row) {
          (void)sample(std::span<const float>(logits + row * vocab, vocab), greedy_, TokenHistory(), 0);
        });
      };
      forward(lane, weights_, layout_, sequences, sink, profile);
    };
    std::promise<void> done;
    pool_.submit(priority, compute, [&done](std::exception_ptr error) {
      if (error) {
        done.set_exception(error);
      } else {
        done.set_value();
      }
    });
    done.get_future().get();
  }

  std::vector<TokenId> random_tokens(std::size_t count) {
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens) {
      token = static_cast<TokenId>(random_() % weights_.shape().vocab);
    }
    return tokens;
  }

  kernels::ComputePool& pool_;
  const Weights& weights_;
  const Settings& settings_;
  const Point point_;
  KvLayout layout_;
  std::uint32_t pages_each_ = 0;
  kernels::HugeBuffer arena_;
  std::vector<PageId> pages_;
  SamplingParams greedy_;
  std::mt19937 random_{1};
};

// All ranks at once, each doing the point's work; the sum of their speeds.
double measure_once(kernels::ComputePool& pool, const Weights& weights, const Settings& settings, const Point& point,
                    Profile* profile) {
  std::vector<std::future<double>> ranks;
  for (unsigned i = 0; i < settings.ranks; ++i) {
    ranks.push_back(std::async(std::launch::async, [&, i] {
      return Rank(pool, weights, settings, point).measure(i == 0 ? profile : nullptr);
    }));
  }
  double sum = 0;
  for (std::future<double>& rank : ranks) {
    sum += rank.get();
  }
  return sum;
}

double measure(kernels::ComputePool& pool, const Weights& weights, const Settings& settings, const Point& point,
               Profile* profile) {
  std::vector<double> results;
  for (unsigned i = 0; i < settings.repeat; ++i) {
    results.push_back(measure_once(pool, weights, settings, point, profile));
  }
  std::sort(results.begin(), results.end());
  return results[results.size() / 2];
}

std::shared_ptr<const Weights> load(const Settings& settings, kernels::ComputePool& pool) {
  WeightsOptions options;
  options.numerics = settings.exact ? Numerics::exact : Numerics::fast;
  options.pool = &pool;
  return Weights::load(ModelSource::open(settings.model), options);
}

void run_points(const Settings& settings) {
  kernels::ComputePool pool(kernels::pool_threads(settings.threads, kernels::usable_cpus()));
  const std::shared_ptr<const Weights> weights = load(settings, pool);
  std::string json;
  if (!settings.json) {
    fmt::print("{}, {} threads, {}, {} rank(s), median of {}; tokens per {}\n", settings.model, pool.threads(),
               kernels::to_string(pool.isa()), settings.ranks, settings.repeat,
               settings.cpu_time ? "second of processor time" : "second");
  }
  for (const Point& point : parse_points(settings.points)) {
    Profile profile;
    const double speed = measure(pool, *weights, settings, point, settings.profile ? &profile : nullptr);
    json += fmt::format("{}\"{}\": {:.2f}", json.empty() ? "" : ", ", point.name, speed);
    if (!settings.json) {
      fmt::print("{:>8} {:9.1f}\n{}", point.name, speed, settings.profile ? profile.report() : "");
      std::fflush(stdout);
    }
  }
  if (settings.json) {
    fmt::print("{{{}}}\n", json);
  }
}

// A process that never sleeps; ends with its owner.
class BusyProcess final {
 public:
  BusyProcess() : pid_(::fork()) {
    if (pid_ == 0) {
      for (std::uint64_t i = 0;; ++i) {
        asm volatile("" : : "r"(i));
      }
    }
  }
  ~BusyProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

 private:
  pid_t pid_;
};

// For each point: what --threads from one to twice the cores give beside a process that spins, as a share of the best.
// The pool has the threads that `baton serve` would make of each number, or with --oversubscribe as many as that.
void run_busy_neighbour(const Settings& settings) {
  const unsigned cores = kernels::usable_cpus();
  const std::vector<Point> points = parse_points(settings.points);
  std::vector<std::vector<double>> speeds(points.size());
  for (unsigned threads = 1; threads <= 2 * cores; ++threads) {
    const BusyProcess neighbour;
    kernels::ComputePool pool(settings.oversubscribe ? threads : kernels::pool_threads(threads, cores));
    const std::shared_ptr<const Weights> weights = load(settings, pool);
    for (std::size_t i = 0; i < points.size(); ++i) {
      speeds[i].push_back(measure(pool, *weights, settings, points[i], nullptr));
    }
  }
  fmt::print("{}, {} cores, one of them taken by another process, {} rank(s); --threads: tokens/s, share of the best\n",
             settings.model, cores, settings.ranks);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double best = *std::max_element(speeds[i].begin(), speeds[i].end());
    fmt::print("{:>8}", points[i].name);
    for (std::size_t t = 0; t < speeds[i].size(); ++t) {
      fmt::print("  {}: {:8.1f} {:3.0f} %", t + 1, speeds[i][t], 100.0 * speeds[i][t] / best);
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace baton

int main(int argc, char** argv) {
  baton::Settings settings;
  CLI::App app("Measures the CPU engine: prefill (p512) and decode (batch x depth: 16x512) in tokens/s.");
  app.add_option("--model", settings.model, "GGUF file, or a folder with safetensors")->required();
  app.add_option("--points", settings.points, "what to measure")->capture_default_str();
  app.add_option("--threads", settings.threads, "compute threads, at most one for each usable core; 0: all of those")
      ->capture_default_str();
  app.add_option("--ranks", settings.ranks, "ranks that share the compute threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--repeat", settings.repeat, "runs of each point; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--chunk", settings.chunk, "tokens of a prefill step")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--page-size", settings.page_tokens, "positions a page")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_flag("--exact", settings.exact, "f32 weights and arithmetic");
  app.add_flag("--json", settings.json, "one JSON object: {point: tokens per second}");
  app.add_flag("--profile", settings.profile, "time by operator, summed over the runs of a point");
  app.add_flag("--cpu-time", settings.cpu_time,
               "count processor time, for machines that are never quiet; means something with one thread and rank");
  app.add_flag("--busy-neighbour", settings.busy_neighbour, "thread counts compared while another process spins");
  app.add_flag("--oversubscribe", settings.oversubscribe,
               "with --busy-neighbour: as many threads as named, to see why a pool never has more than cores");
  CLI11_PARSE(app, argc, argv);
  try {
    if (settings.busy_neighbour) {
      baton::run_busy_neighbour(settings);
    } else {
      baton::run_points(settings);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_engine: {}\n", error.what());
    return 1;
  }
  return 0;
}
