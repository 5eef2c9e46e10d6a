#include "kernels/cpu_count.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include <sched.h>

namespace baton::kernels {

namespace {

std::optional<long> leading_number(std::string_view text) noexcept {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value <= 0) {
    return std::nullopt;
  }
  return value;
}

unsigned cpus_of(long quota, long period) noexcept {
  constexpr long kMost = std::numeric_limits<int>::max();
  return static_cast<unsigned>(std::min(kMost, (quota - 1) / period + 1));  // both are at least 1
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

unsigned affinity_cpus() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
    return static_cast<unsigned>(CPU_COUNT(&set));
  }
  return std::max(1U, std::thread::hardware_concurrency());  // more CPUs than cpu_set_t can name
}

// The quota binds at every level of the hierarchy, so the smallest one on the way to the root counts.
unsigned cgroup2_cpus(unsigned limit) {
  std::ifstream self("/proc/self/cgroup");
  std::string line;
  while (std::getline(self, line)) {
    if (!line.starts_with("0::")) {
      continue;
    }
    std::string path = line.substr(3);
    while (true) {
      if (const auto cpus = cpus_from_cpu_max(first_line("/sys/fs/cgroup" + path + "/cpu.max"))) {
        limit = std::min(limit, *cpus);
      }
      if (path.empty() || path == "/") {
        break;
      }
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return limit;
}

unsigned cgroup1_cpus(unsigned limit) {
  const auto quota = leading_number(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"));
  const auto period = leading_number(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  if (!quota || !period) {
    return limit;
  }
  return std::min(limit, cpus_of(*quota, *period));
}

}  // namespace

std::optional<unsigned> cpus_from_cpu_max(std::string_view text) noexcept {
  const auto space = text.find(' ');
  if (space == std::string_view::npos) {
    return std::nullopt;
  }
  const auto quota = leading_number(text.substr(0, space));
  const auto period = leading_number(text.substr(space + 1));
  if (!quota || !period) {
    return std::nullopt;
  }
  return cpus_of(*quota, *period);
}

unsigned pool_threads(unsigned asked, unsigned usable) noexcept {
  const unsigned most = std::max(1U, usable);
  return asked == 0 ? most : std::min(asked, most);
}

unsigned usable_cpus() noexcept {
  const unsigned affinity = affinity_cpus();
  try {
    return std::max(1U, cgroup1_cpus(cgroup2_cpus(affinity)));
  } catch (...) {
    return affinity;  // no memory for a path: the mask alone is a usable answer
  }
}

}  // namespace baton::kernels
