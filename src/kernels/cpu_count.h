// How many threads may usefully compute here: the affinity mask and the cgroup's CPU quota, whichever is smaller.
#pragma once

#include <optional>
#include <string_view>

namespace baton::kernels {

// At least 1. Reads /proc and /sys/fs/cgroup (version 2, and version 1's cpu controller); what cannot be read counts
// as no limit.
unsigned usable_cpus() noexcept;

// CPUs granted by the text of a cpu.max file ("max 100000", "150000 100000"), rounded down but at least 1; nothing if
// there is no limit or the text is not understood.
std::optional<unsigned> cpus_from_cpu_max(std::string_view text) noexcept;

}  // namespace baton::kernels
