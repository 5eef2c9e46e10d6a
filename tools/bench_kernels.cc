// Rates of the kernels by operator and shape, next to the machine's read bandwidth in the same run.
//
//   bench_kernels [--threads N] [--isa portable|avx2|avx512] [--only TEXT] [--clock wall|cpu] [--cold MB]
//
// On a busy machine "--threads 1 --clock cpu" counts CPU seconds of the process and so leaves out the neighbours.
// Weights rotate through copies of 100 MB (--cold) together, so they come from memory as they do in a model;
// activations and keys and values stay where the operators before would have left them. Each figure is the median of
// several runs.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <time.h>

#include "kernels/huge_buffer.h"
#include "kernels/ops.h"

namespace {

using namespace baton::kernels;

std::size_t cold_bytes = std::size_t{100} << 20;
constexpr int kRuns = 5;

clockid_t measuring_clock = CLOCK_MONOTONIC;

double seconds() {
  timespec time = {};
  clock_gettime(measuring_clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Median seconds of one call; each run repeats the call for some 20 ms.
double median_seconds(const std::function<void()>& call) {
  call();
  double begin = seconds();
  call();
  const int repeats = std::clamp(static_cast<int>(0.02 / std::max(1e-7, seconds() - begin)), 1, 20000);
  std::vector<double> runs;
  for (int run = 0; run < kRuns; ++run) {
    begin = seconds();
    for (int i = 0; i < repeats; ++i) {
      call();
    }
    runs.push_back((seconds() - begin) / repeats);
  }
  std::sort(runs.begin(), runs.end());
  return runs[runs.size() / 2];
}

void on_lane(ComputePool& pool, const std::function<void(Lane&)>& step) {
  std::promise<void> ended;
  pool.submit(Priority::decode, step,
              [&ended](const std::exception_ptr& error) { error ? ended.set_exception(error) : ended.set_value(); });
  ended.get_future().get();
}

std::vector<float> random_values(std::size_t count) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return normal(engine); });
  return values;
}

// Copies of one random matrix that together exceed the caches.
struct ColdMatrix {
  HugeBuffer memory;
  std::vector<PackedMatrix> copies;
};

ColdMatrix cold_matrix(PackedFormat format, std::uint32_t rows, std::uint32_t cols) {
  const std::size_t bytes = packed_bytes(format, rows, cols);
  const std::size_t count = std::max<std::size_t>(1, cold_bytes / bytes);
  ColdMatrix cold;
  cold.memory = HugeBuffer(count * bytes);
  const PackTarget first = {format, rows, cols, cold.memory.data()};
  if (is_quantised(format)) {
    std::mt19937 engine(2);
    std::vector<std::byte> blocks(std::size_t{cols} / 32 * 34);
    std::generate(blocks.begin(), blocks.end(), [&] { return static_cast<std::byte>(engine() & 0x3F); });
    pack_quantised_rows(first, 0, rows, [&](std::uint32_t) { return blocks.data(); });
  } else {
    const std::vector<float> values = random_values(cols);
    pack_float_rows(first, 0, rows, [&](std::uint32_t, float* out) { std::copy(values.begin(), values.end(), out); });
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* copy = cold.memory.data() + i * bytes;
    if (i > 0) {
      std::memcpy(copy, cold.memory.data(), bytes);
    }
    cold.copies.push_back({format, rows, cols, copy});
  }
  return cold;
}

void bench_read(Lane& lane) {
  const HugeBuffer memory(std::size_t{512} << 20);
  std::memset(memory.data(), 1, memory.size());
  constexpr unsigned kChunks = 256;
  const std::size_t words = memory.size() / sizeof(std::uint64_t) / kChunks;
  std::vector<std::uint64_t> sums(kChunks);
  const double each = median_seconds([&] {
    lane.parallel_for(kChunks, [&](unsigned chunk) {
      const auto* values = reinterpret_cast<const std::uint64_t*>(memory.data()) + chunk * words;
      std::uint64_t sum[8] = {};
      for (std::size_t i = 0; i < words; i += 8) {
        for (std::size_t j = 0; j < 8; ++j) {
          sum[j] += values[i + j];
        }
      }
      sums[chunk] = std::accumulate(std::begin(sum), std::end(sum), std::uint64_t{0});
    });
  });
  fmt::print("read 512 MiB, 2 MiB pages: {:.1f} GB/s (checksum {})\n", static_cast<double>(memory.size()) / each / 1e9,
             std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) & 0xFF);
}

void bench_matmul(Lane& lane, PackedFormat format) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kShapes[] = {
      {576, 576}, {3072, 576}, {576, 1536}, {49152, 576}};  // rows, cols
  for (const auto& [rows, cols] : kShapes) {
    const ColdMatrix cold = cold_matrix(format, rows, cols);
    const double bytes = static_cast<double>(packed_bytes(format, rows, cols));
    fmt::print("{:10} K {:4} x N {:5} ", to_string(format), cols, rows);
    for (const std::size_t tokens : {1UL, 2UL, 4UL, 16UL, 64UL, 256UL}) {
      const std::vector<float> x = random_values(tokens * cols);
      std::vector<float> out(tokens * rows);
      std::size_t turn = 0;
      const double each = median_seconds(
          [&] { matmul(lane, x.data(), tokens, cold.copies[turn++ % cold.copies.size()], nullptr, out.data(), rows); });
      const double gops = 2.0 * static_cast<double>(rows) * cols * static_cast<double>(tokens) / each / 1e9;
      fmt::print("| M{:3} {:6.1f} GOP/s {:5.1f} GB/s ", tokens, gops, bytes / each / 1e9);
      std::fflush(stdout);
    }
    fmt::print("\n");
  }
}

// SmolLM2's shape: 9 query heads on 3 KV heads of 64, one layer; K and V of 30 layers' size are walked through.
void bench_attention(Lane& lane, std::uint32_t depth, std::uint32_t rows, std::uint32_t sequences) {
  constexpr std::uint32_t kLayers = 30;
  KvLayoutView layout = {kLayers, 3, 64, 16, KvType::f16, std::size_t{kLayers} * 2 * 3 * 16 * 64 * 2};
  const std::uint32_t positions = depth + rows;
  const std::uint32_t pages_each = (positions + 15) / 16;
  const HugeBuffer arena(std::size_t{pages_each} * sequences * layout.page_bytes);
  auto* halves = reinterpret_cast<std::uint16_t*>(arena.data());
  for (std::size_t i = 0; i < arena.size() / 2; ++i) {
    halves[i] = static_cast<std::uint16_t>(0x2C00 + i * 37 % 0x1000);  // values from 1/16 to 1
  }
  std::vector<std::uint32_t> pages(std::size_t{pages_each} * sequences);
  std::iota(pages.begin(), pages.end(), 0U);
  std::vector<AttentionSequence> batch;
  for (std::uint32_t i = 0; i < sequences; ++i) {
    batch.push_back({arena.data(), pages.data() + std::size_t{i} * pages_each, depth, rows, i * rows});
  }
  const std::vector<float> q = random_values(std::size_t{sequences} * rows * 576);
  std::vector<float> out(q.size());
  std::uint32_t layer = 0;
  const double each = median_seconds(
      [&] { attention(lane, layout, layer++ % kLayers, batch, q.data(), 576, 9, 0.125F, out.data(), 576); });
  const double pairs = (depth + 0.5 * (rows + 1)) * rows * sequences;  // query row, position
  fmt::print("attention depth {:4} rows {:3} sequences {:2}: {:8.1f} us, {:6.1f} GFLOP/s, {:5.1f} GB/s of K and V\n",
             depth, rows, sequences, each * 1e6, pairs * 9 * 64 * 4 / each / 1e9,
             static_cast<double>(positions) * sequences * 3 * 64 * 2 * 2 / each / 1e9);
}

void bench_rows(Lane& lane) {
  for (const std::size_t rows : {1UL, 16UL, 256UL}) {
    std::vector<float> x = random_values(rows * 1536);
    const std::vector<float> y = random_values(rows * 1536);
    std::vector<float> out(rows * 1536);
    const auto report = [&](const char* name, double seconds) {
      fmt::print("{:9} rows {:3}: {:8.2f} us\n", name, rows, seconds * 1e6);
    };
    report("rms_norm", median_seconds([&] { rms_norm(lane, x.data(), y.data(), 1e-5F, rows, 576, out.data()); }));
    report("rope", median_seconds([&] { rope(lane, x.data(), 768, rows, 12, 64, y.data(), y.data()); }));
    report("silu_mul", median_seconds([&] { silu_mul(lane, x.data(), y.data(), rows * 1536, out.data()); }));
    report("add", median_seconds([&] { add(lane, x.data(), rows * 576, out.data()); }));
  }
}

struct Options {
  unsigned threads = 0;
  Isa isa = host_isa();
  std::string only;
  bool cpu_clock = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--threads") {
      options.threads = static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 10));
    } else if (name == "--only") {
      options.only = value;
    } else if (name == "--cold") {
      cold_bytes = std::strtoul(value.c_str(), nullptr, 10) << 20;
    } else if (name == "--clock") {
      options.cpu_clock = value == "cpu";
    } else if (name == "--isa") {
      for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
        options.isa = value == to_string(isa) ? isa : options.isa;
      }
    }
  }
  return options;
}

void bench_all(Lane& lane, const std::string& only) {
  const auto wanted = [&only](const std::string& name) { return only.empty() || name.find(only) != std::string::npos; };
  bench_read(lane);
  if (wanted("rows")) {
    bench_rows(lane);
  }
  for (const SourceType type :
       {SourceType::q4_1, SourceType::q4_0, SourceType::q8_0, SourceType::bf16, SourceType::f16}) {
    const PackedFormat format = preferred_format(type, lane.isa());
    if (wanted(to_string(format))) {
      bench_matmul(lane, format);
    }
  }
  for (const std::uint32_t depth : {0U, 512U, 2048U}) {
    if (wanted("attention decode")) {
      bench_attention(lane, depth, 1, 1);
      bench_attention(lane, depth, 1, 16);
    }
    if (wanted("attention prefill")) {
      bench_attention(lane, depth, 256, 1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  measuring_clock = options.cpu_clock ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  ComputePool pool(options.threads, options.isa);
  fmt::print("{} threads, {}\n", pool.threads(), to_string(pool.isa()));
  on_lane(pool, [&](Lane& lane) { bench_all(lane, options.only); });
  return 0;
}
