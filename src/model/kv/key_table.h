// A flat hash map from 64-bit keys to small numbers: what finds pages and ranks by the key of a prefix.
//
// Open addressing with linear probing in one array that doubles when it is half full, so a look-up touches one or two
// cache lines. Removal moves later entries back: there are no tombstones, and nothing slows down with age. What it
// holds is never walked through, so that nothing depends on its order. A plain value, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace baton {

class KeyTable final {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;  // not a value: the key is not there

  KeyTable();

  std::size_t size() const noexcept { return size_; }
  std::uint32_t find(std::uint64_t key) const noexcept {  // kNone if the key is not there
    return slots_[slot_of(key)].value;
  }
  // Of the values under the key the first that is accepted; kNone if none is. A key has more than one value only where
  // its owner adds it more than once.
  template <class Accepts>
  std::uint32_t find_if(std::uint64_t key, Accepts accepts) const noexcept {
    std::size_t index = slot_of(key);
    while (slots_[index].value != kNone && !(slots_[index].key == key && accepts(slots_[index].value))) {
      index = next(index);
    }
    return slots_[index].value;
  }

  void add(std::uint64_t key, std::uint32_t value);              // REQUIRES that the pair is not there
  void remove(std::uint64_t key, std::uint32_t value) noexcept;  // REQUIRES that the pair is there

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kNone;
  };

  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio: spreads any keys

  std::size_t home(std::uint64_t key) const noexcept { return static_cast<std::size_t>((key * kGolden) >> shift_); }
  std::size_t slot_of(std::uint64_t key) const noexcept {  // the key's, or the free one where it would stand
    std::size_t index = home(key);
    while (slots_[index].value != kNone && slots_[index].key != key) {
      index = next(index);
    }
    return index;
  }
  std::size_t next(std::size_t index) const noexcept { return (index + 1) & (slots_.size() - 1); }
  std::size_t pair_slot(std::uint64_t key, std::uint32_t value) const noexcept;
  void grow();

  std::vector<Slot> slots_;  // a power of two
  std::size_t size_ = 0;
  unsigned shift_;
};

}  // namespace baton
