#include "model/engine/weight_jobs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <mutex>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/check.h"
#include "runtime/errors.h"

namespace baton {
namespace {

// Rows a job packs at most: a multiple of every panel height, so that the jobs of a matrix that is no stack write
// different panels and may run at the same time.
constexpr std::uint32_t kJobRows = 4096;

// Some rows of one part. The jobs of a stack of several parts run one after another: parts may share a panel.
struct Job {
  const MatrixStack* stack = nullptr;
  const MatrixStack::Part* part = nullptr;
  std::uint32_t first = 0;  // in the part
  std::uint32_t count = 0;
  std::uint32_t target_row = 0;  // in the stack
  std::size_t index = 0;         // in the list of hashes
};

kernels::SourceType source_type(TensorType type) noexcept {
  switch (type) {
    case TensorType::F32:
      return kernels::SourceType::f32;
    case TensorType::F16:
      return kernels::SourceType::f16;
    case TensorType::BF16:
      return kernels::SourceType::bf16;
    case TensorType::Q4_0:
      return kernels::SourceType::q4_0;
    case TensorType::Q4_1:
      return kernels::SourceType::q4_1;
    case TensorType::Q8_0:
      return kernels::SourceType::q8_0;
    default:
      return kernels::SourceType::other;
  }
}

// Where the f16 scales of a block lie, as byte offsets; -1 for none.
struct ScalePlaces {
  int first = -1;
  int second = -1;
};

ScalePlaces scale_places(TensorType type) noexcept {
  switch (type) {
    case TensorType::Q4_0:
    case TensorType::Q5_0:
    case TensorType::Q8_0:
      return {0, -1};
    case TensorType::Q4_1:
    case TensorType::Q5_1:
    case TensorType::Q4_K:
    case TensorType::Q5_K:
      return {0, 2};
    case TensorType::Q6_K:
      return {208, -1};
    default:
      return {};
  }
}

template <class Bits>
bool any_with_all_ones(const std::byte* data, std::size_t count, std::size_t stride, Bits mask) noexcept {
  bool found = false;
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + i * stride, sizeof(bits));
    found |= (bits & mask) == mask;  // an exponent of all ones: infinity or NaN
  }
  return found;
}

// A quantised value is finite if the scales of its block are, so only those are looked at.
bool all_finite(TensorType type, const std::byte* data, std::size_t bytes) noexcept {
  constexpr std::uint16_t kHalf = 0x7C00;
  switch (type) {
    case TensorType::F32:
      return !any_with_all_ones<std::uint32_t>(data, bytes / 4, 4, 0x7F800000U);
    case TensorType::F16:
      return !any_with_all_ones<std::uint16_t>(data, bytes / 2, 2, kHalf);
    case TensorType::BF16:
      return !any_with_all_ones<std::uint16_t>(data, bytes / 2, 2, 0x7F80);
    default:
      break;
  }
  const ScalePlaces places = scale_places(type);
  const std::size_t block = block_bytes(type);
  const bool first_bad = any_with_all_ones<std::uint16_t>(data + places.first, bytes / block, block, kHalf);
  const bool second_bad =
      places.second >= 0 && any_with_all_ones<std::uint16_t>(data + places.second, bytes / block, block, kHalf);
  return !first_bad && !second_bad;
}

std::vector<std::vector<Job>> make_jobs(std::span<const MatrixStack> stacks, std::size_t& count) {
  std::vector<std::vector<Job>> groups;
  count = 0;
  for (const MatrixStack& stack : stacks) {
    std::vector<Job> group;
    std::uint32_t target_row = 0;
    for (const MatrixStack::Part& part : stack.parts) {
      const auto rows = static_cast<std::uint32_t>(part.view.rows);
      for (std::uint32_t first = 0; first < rows; first += kJobRows) {
        const std::uint32_t n = std::min(kJobRows, rows - first);
        group.push_back({&stack, &part, first, n, target_row + first, count++});
      }
      target_row += rows;
    }
    if (stack.parts.size() > 1) {
      groups.push_back(std::move(group));
      continue;
    }
    for (const Job& job : group) {
      groups.push_back({job});
    }
  }
  return groups;
}

std::size_t stored_bytes(const Job& job) noexcept {
  return job.part->view.row_bytes * job.count;
}

// Packs the job's rows and returns the hash of as many stored ones. (Which canonical rows lie in which stored ones does
// not matter to it: the jobs of a part cover all stored rows.)
std::uint64_t run_job(const Job& job) {
  const MatrixView& view = job.part->view;
  const std::byte* stored = view.data + view.row_bytes * job.first;
  if (!all_finite(view.type, stored, stored_bytes(job))) {
    throw Error(Errc::bad_file,
                fmt::format("tensor {} holds a weight that is not a finite number (among rows {} to {})",
                            job.part->name, job.first, job.first + job.count - 1));
  }
  const kernels::PackTarget target = job.stack->pack_target();
  if (kernels::is_quantised(target.format)) {
    kernels::pack_quantised_rows(target, job.target_row, job.count,
                                 [&](std::uint32_t row) { return view.row(job.first + row); });
  } else {
    kernels::pack_float_rows(target, job.target_row, job.count, [&](std::uint32_t row, float* out) {
      view.copy_row(job.first + row, std::span<float>(out, view.cols));
    });
  }
  return XXH3_64bits(stored, stored_bytes(job));
}

// Counts bytes and tells the caller, one thread at a time.
class ProgressMeter final {
 public:
  ProgressMeter(const WeightsOptions& options, std::uint64_t total) : options_(options), total_(total) {}
  void add(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    if (options_.progress) {
      options_.progress(done_, total_);
    }
  }

 private:
  const WeightsOptions& options_;
  std::mutex mutex_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

void run_on(kernels::ComputePool& pool, const std::function<void(kernels::Lane&)>& step) {
  std::promise<void> done;
  pool.submit(kernels::Priority::prefill, step, [&done](std::exception_ptr error) {
    if (error) {
      done.set_exception(error);
    } else {
      done.set_value();
    }
  });
  done.get_future().get();
}

}  // namespace

std::uint32_t MatrixStack::rows() const noexcept {
  std::uint64_t sum = 0;
  for (const Part& part : parts) {
    sum += part.view.rows;
  }
  return static_cast<std::uint32_t>(sum);
}

std::size_t MatrixStack::bytes() const {
  return kernels::packed_bytes(format, rows(), cols());
}

void choose_format(MatrixStack& stack, Numerics numerics, kernels::Isa isa) {
  if (numerics == Numerics::exact) {
    stack.format = kernels::PackedFormat::f32_rows;
    return;
  }
  const auto preferred = [isa](const MatrixStack::Part& part) {
    return kernels::preferred_format(source_type(part.view.type), isa);
  };
  stack.format = preferred(stack.parts.front());
  for (const MatrixStack::Part& part : stack.parts) {
    if (preferred(part) != stack.format) {
      stack.format = kernels::PackedFormat::f16_panel;
    }
  }
}

std::vector<std::uint64_t> pack(std::span<const MatrixStack> stacks, const WeightsOptions& options) {
  std::size_t job_count = 0;
  const std::vector<std::vector<Job>> groups = make_jobs(stacks, job_count);
  std::uint64_t total = 0;
  for (const std::vector<Job>& group : groups) {
    for (const Job& job : group) {
      total += stored_bytes(job);
    }
  }
  ProgressMeter meter(options, total);
  std::vector<std::uint64_t> hashes(job_count);
  const auto run_group = [&](unsigned index) {
    for (const Job& job : groups[index]) {
      hashes[job.index] = run_job(job);
      meter.add(stored_bytes(job));
    }
  };
  const auto group_count = static_cast<unsigned>(groups.size());
  if (options.pool != nullptr) {
    run_on(*options.pool, [&](kernels::Lane& lane) { lane.parallel_for(group_count, run_group); });
  } else {
    for (unsigned i = 0; i < group_count; ++i) {
      run_group(i);
    }
  }
  return hashes;
}

void check_finite(const std::string& name, std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(Errc::bad_file, fmt::format("tensor {} holds {} at index {}", name, values[i], i));
    }
  }
}

void release_file_pages(std::span<const MatrixStack> stacks) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const MatrixStack& stack : stacks) {
    for (const MatrixStack::Part& part : stack.parts) {
      const auto begin = reinterpret_cast<std::uintptr_t>(part.view.data);
      const std::uintptr_t end = begin + part.view.row_bytes * part.view.rows;
      const std::uintptr_t first = (begin + page - 1) / page * page;
      const std::uintptr_t last = end / page * page;
      if (first < last) {
        // A failure costs memory, nothing else. A read-only file mapping is read anew where it is touched again.
        (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
      }
    }
  }
}

}  // namespace baton
