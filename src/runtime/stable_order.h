// stable_order: sorting by index, equal elements in their old order.
//
// In place of std::stable_sort, which moves elements one by one into a temporary buffer and which clang 19 rejects with
// Debian's libstdc++ (it warns of a function that the library itself calls).
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace baton {

// The indices 0 .. count-1 so ordered that less(a, b) puts index a before index b.
template <class Less>
std::vector<std::size_t> stable_order(std::size_t count, Less less) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (less(a, b)) {
      return true;
    }
    return !less(b, a) && a < b;
  });
  return order;
}

}  // namespace baton
