// How many threads may usefully compute here: the affinity mask and the cgroup's CPU quota, whichever is smaller, and
// what that makes of the number that somebody asked for.
#pragma once

#include <optional>
#include <string_view>

namespace baton::kernels {

// At least 1. Reads /proc and /sys/fs/cgroup (version 2, and version 1's cpu controller); what cannot be read counts
// as no limit.
unsigned usable_cpus() noexcept;

// CPUs granted by the text of a cpu.max file ("max 100000", "150000 100000"), rounded up, since rounding 1.9 down would
// leave half of it unused; nothing if there is no limit or the text is not understood.
std::optional<unsigned> cpus_from_cpu_max(std::string_view text) noexcept;

// Threads of a process's compute pool when `asked` are wished for (0: as many as are useful) and `usable` CPUs are
// there: never more than those. An operator waits for each chunk that a thread has begun, so one that has lost its
// core for a time slice of some milliseconds stops all: beside a busy process four threads on two cores fell to 61 % of
// the best count's decode rate (bench_engine --busy-neighbour).
unsigned pool_threads(unsigned asked, unsigned usable) noexcept;

}  // namespace baton::kernels
