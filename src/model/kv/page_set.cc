#include "model/kv/page_set.h"

#include <bit>

#include "runtime/check.h"

namespace baton {
namespace {

constexpr std::uint32_t kWordBits = 64;

constexpr std::uint64_t bit_of(std::uint32_t index) {
  return std::uint64_t{1} << (index % kWordBits);
}

}  // namespace

PageSet::PageSet(std::uint32_t bound) : bound_(bound) {
  BATON_CHECK(bound > 0);
  std::uint32_t words = bound;
  do {
    words = (words + kWordBits - 1) / kWordBits;
    levels_.emplace_back(words, 0);
  } while (words > 1);
}

void PageSet::fill() noexcept {
  std::uint32_t bits = bound_;
  for (std::vector<std::uint64_t>& words : levels_) {
    for (std::uint64_t& word : words) {
      word = ~std::uint64_t{0};
    }
    if (bits % kWordBits != 0) {
      words.back() = bit_of(bits) - 1;
    }
    bits = static_cast<std::uint32_t>(words.size());
  }
  size_ = bound_;
}

PageId PageSet::lowest() const noexcept {
  BATON_CHECK(size_ > 0);
  std::uint32_t index = 0;
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    index = index * kWordBits + static_cast<std::uint32_t>(std::countr_zero((*level)[index]));
  }
  return index;
}

void PageSet::add(PageId page) noexcept {
  BATON_CHECK(page < bound_, page, bound_);
  std::uint32_t index = page;
  for (std::vector<std::uint64_t>& words : levels_) {
    std::uint64_t& word = words[index / kWordBits];
    if ((word & bit_of(index)) != 0) {
      size_ += &words == &levels_.front() ? 0 : 1;  // the word held another page already, and those above say so
      return;
    }
    word |= bit_of(index);
    index /= kWordBits;
  }
  ++size_;
}

void PageSet::remove(PageId page) noexcept {
  BATON_CHECK(page < bound_, page, bound_);
  std::uint32_t index = page;
  if ((levels_.front()[index / kWordBits] & bit_of(index)) == 0) {
    return;
  }
  --size_;
  for (std::vector<std::uint64_t>& words : levels_) {
    std::uint64_t& word = words[index / kWordBits];
    word &= ~bit_of(index);
    if (word != 0) {
      return;
    }
    index /= kWordBits;
  }
}

}  // namespace baton
