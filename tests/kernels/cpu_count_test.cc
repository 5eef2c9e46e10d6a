#include "kernels/cpu_count.h"

#include <doctest/doctest.h>

namespace baton::kernels {

TEST_CASE("cpu_count: a quota grants whole CPUs, at least one") {
  CHECK(cpus_from_cpu_max("200000 100000") == 2U);
  CHECK(cpus_from_cpu_max("250000 100000") == 2U);
  CHECK(cpus_from_cpu_max("50000 100000") == 1U);
  CHECK(cpus_from_cpu_max("400000 100000\n") == 4U);
}

TEST_CASE("cpu_count: what is no quota is no limit") {
  CHECK_FALSE(cpus_from_cpu_max("max 100000").has_value());
  CHECK_FALSE(cpus_from_cpu_max("").has_value());
  CHECK_FALSE(cpus_from_cpu_max("100000").has_value());
  CHECK_FALSE(cpus_from_cpu_max("100000 0").has_value());
  CHECK_FALSE(cpus_from_cpu_max("-1 100000").has_value());
}

TEST_CASE("cpu_count: there is always a CPU to use") {
  CHECK(usable_cpus() >= 1U);
}

}  // namespace baton::kernels
