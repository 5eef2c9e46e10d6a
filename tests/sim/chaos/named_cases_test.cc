// Every named case on the libraries that serve.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "tests/sim/chaos/named_case.h"

using namespace baton::chaos;

TEST_CASE("Named cases: what users of other runtimes met does not happen here") {
  std::set<std::string> names;
  for (const NamedCase& named : all_named_cases()) {
    INFO(std::string(named.name));
    INFO(std::string(named.source));
    CHECK(names.insert(named.name).second);
    CHECK_NOTHROW(named.check());
  }
}
