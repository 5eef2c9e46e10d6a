#include "kernels/cpu_count.h"

#include <doctest/doctest.h>

namespace baton::kernels {

TEST_CASE("cpu_count: a quota grants whole CPUs, the last one perhaps in part") {
  CHECK(cpus_from_cpu_max("200000 100000") == 2U);
  CHECK(cpus_from_cpu_max("250000 100000") == 3U);
  CHECK(cpus_from_cpu_max("200001 100000") == 3U);
  CHECK(cpus_from_cpu_max("100000 100000") == 1U);
  CHECK(cpus_from_cpu_max("50000 100000") == 1U);
  CHECK(cpus_from_cpu_max("1 100000") == 1U);
  CHECK(cpus_from_cpu_max("400000 100000\n") == 4U);
  CHECK(cpus_from_cpu_max("9223372036854775807 1") >= 1U);
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

TEST_CASE("cpu_count: a pool has the threads asked for, but no more than there are CPUs") {
  struct Row {
    unsigned asked;
    unsigned usable;
    unsigned threads;
  };
  for (const Row& row : {Row{0, 2, 2}, Row{1, 2, 1}, Row{2, 2, 2}, Row{3, 2, 2}, Row{4, 2, 2}, Row{1024, 2, 2},
                         Row{0, 1, 1}, Row{2, 1, 1}, Row{5, 64, 5}, Row{0, 64, 64}, Row{0, 0, 1}, Row{3, 0, 1}}) {
    CAPTURE(row.asked);
    CAPTURE(row.usable);
    CHECK(pool_threads(row.asked, row.usable) == row.threads);
  }
}

}  // namespace baton::kernels
