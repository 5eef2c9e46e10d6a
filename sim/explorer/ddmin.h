// ddmin(): makes a list shorter while something stays true of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace baton::chaos {

// Drops halves, then quarters, and so on down to single elements, as long as `holds` is true of what is left, and
// begins again until no single element can go. The order stays. `holds` is asked of shorter lists only; it may change
// its mind (a time budget that ran out) to false for good. After A. Zeller and R. Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002; without the subsets, which hardly ever hold here.
template <class Element, class Holds>
std::vector<Element> ddmin(std::vector<Element> list, const Holds& holds) {
  using Offset = std::ptrdiff_t;
  std::size_t piece = (list.size() + 1) / 2;
  while (piece > 0) {
    bool dropped = false;
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.size(), begin + piece);
      std::vector<Element> rest(list.begin(), list.begin() + static_cast<Offset>(begin));
      rest.insert(rest.end(), list.begin() + static_cast<Offset>(end), list.end());
      if (holds(rest)) {
        list = std::move(rest);
        dropped = true;
      } else {
        begin = end;
      }
    }
    piece = piece == 1 && dropped ? 1 : piece / 2;
  }
  return list;
}

}  // namespace baton::chaos
