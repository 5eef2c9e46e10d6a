#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "kernels/cpu_count.h"
#include "kernels/isa.h"
#include "tools/baton/commands.h"

namespace baton {
namespace {

struct Memory {
  std::uint64_t total = 0;  // bytes
  std::uint64_t free = 0;   // bytes that can be had without swapping
};

// As /proc/meminfo says it: "MemTotal:  16384 kB".
Memory machine_memory() {
  Memory memory;
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kibibytes = 0;
  std::string unit;
  while (file >> name >> kibibytes && std::getline(file, unit)) {
    if (name == "MemTotal:") {
      memory.total = kibibytes << 10;
    } else if (name == "MemAvailable:") {
      memory.free = kibibytes << 10;
    }
  }
  return memory;
}

// A container's limit, where there is one (cgroup v2): "max" or a number.
std::optional<std::uint64_t> bytes_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t bytes = 0;
  if (file >> bytes) {
    return bytes;
  }
  return std::nullopt;
}

Memory usable_memory() {
  Memory memory = machine_memory();
  const auto limit = bytes_in("/sys/fs/cgroup/memory.max");
  if (limit && *limit < memory.total) {
    const std::uint64_t used = std::min(bytes_in("/sys/fs/cgroup/memory.current").value_or(0), *limit);
    memory.total = *limit;
    memory.free = std::min(memory.free, *limit - used);
  }
  return memory;
}

double gibibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1ULL << 30);
}

}  // namespace

Command DevicesCommand::command() {
  Command command;
  command.name = "devices";
  command.summary = "Says what this machine offers for --device";
  command.examples =
      "Cores and memory are those that this process may use: fewer than the machine's in a container.\n"
      "Example:\n  baton devices";
  command.run = [this] { return run(); };
  return command;
}

int DevicesCommand::run() {
  const unsigned usable = kernels::usable_cpus();
  const Memory memory = usable_memory();
  fmt::print("cpu   {} of {} cores usable, {} kernels, {:.1f} GiB memory, {:.1f} GiB of it free\n", usable,
             std::max(usable, std::thread::hardware_concurrency()), kernels::to_string(kernels::host_isa()),
             gibibytes(memory.total), gibibytes(memory.free));
  fmt::print("cuda  not built in\n");
  return kExitOk;
}

}  // namespace baton
