#include "sim/report/units.h"

#include <doctest/doctest.h>

using namespace baton::sim;

TEST_CASE("units: numbers have three digits or more, and the unit that fits") {
  CHECK(significant(0) == "0");
  CHECK(significant(0.00123456) == "0.00123");
  CHECK(significant(1.23456) == "1.23");
  CHECK(significant(99.94) == "99.9");
  CHECK(significant(99.96) == "100");
  CHECK(significant(-12.34) == "-12.3");
  CHECK(significant(123456) == "123456");
  CHECK(time_text(0.0000123) == "12.3 us");
  CHECK(time_text(0.85) == "850 ms");
  CHECK(time_text(12.34) == "12.3 s");
  CHECK(time_text(3720 * 2) == "2 h 04 min");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1.25e9) == "1.25 GB");
  CHECK(bytes_text(2e18) == "2000 PB");
  CHECK(count_text(12031) == "12,031");
  CHECK(count_text(-1234567) == "-1,234,567");
  CHECK(count_text(999) == "999");
  CHECK(count_text(12345678) == "12.3 M");
  CHECK(percent_text(0.93755) == "93.8 %");
}
