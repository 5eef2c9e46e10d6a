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

void PageSet::take_lowest(std::uint32_t count, std::vector<PageId>& into) {
  BATON_CHECK(count <= size_, count, size_);
  std::size_t at = into.size();
  into.resize(at + count);
  while (at < into.size()) {
    const std::uint32_t word = lowest() / kWordBits;
    const std::uint64_t all = levels_.front()[word];
    std::uint64_t left = all;
    for (; left != 0 && at < into.size(); ++at) {
      into[at] = word * kWordBits + static_cast<std::uint32_t>(std::countr_zero(left));
      left &= left - 1;
    }
    take_bits(word, all & ~left);
  }
}

void PageSet::add(std::span<const PageId> pages) noexcept {
  for (std::size_t i = 0; i < pages.size();) {
    const std::uint32_t word = pages[i] / kWordBits;
    BATON_CHECK(pages[i] < bound_, pages[i], bound_);
    std::uint64_t bits = 0;
    for (; i < pages.size() && pages[i] / kWordBits == word; ++i) {
      bits |= bit_of(pages[i]);
    }
    add_bits(word, bits);
  }
}

// Of the lowest level; a word that becomes empty is taken out of the levels above.
void PageSet::take_bits(std::uint32_t index, std::uint64_t bits) noexcept {
  size_ -= static_cast<std::uint32_t>(std::popcount(levels_.front()[index] & bits));
  for (std::vector<std::uint64_t>& words : levels_) {
    words[index] &= ~bits;
    if (words[index] != 0) {
      return;
    }
    bits = bit_of(index);
    index /= kWordBits;
  }
}

void PageSet::add_bits(std::uint32_t index, std::uint64_t bits) noexcept {
  size_ += static_cast<std::uint32_t>(std::popcount(bits & ~levels_.front()[index]));
  for (std::vector<std::uint64_t>& words : levels_) {
    const bool known = words[index] != 0;  // to the levels above
    words[index] |= bits;
    if (known) {
      return;
    }
    bits = bit_of(index);
    index /= kWordBits;
  }
}

}  // namespace baton
