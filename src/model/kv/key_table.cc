#include "model/kv/key_table.h"

#include <utility>

#include "runtime/check.h"

namespace baton {
namespace {

constexpr unsigned kFirstBits = 6;

}  // namespace

KeyTable::KeyTable() : slots_(std::size_t{1} << kFirstBits), shift_(64 - kFirstBits) {}

void KeyTable::add(std::uint64_t key, std::uint32_t value) {
  BATON_CHECK(value != kNone);
  if (2 * (size_ + 1) > slots_.size()) {
    grow();
  }
  Slot& slot = slots_[pair_slot(key, value)];
  BATON_CHECK(slot.value == kNone, key, value);
  slot = {key, value};
  ++size_;
}

// The gap that a removal leaves would end the search for entries behind it: whichever of them may stand there moves in.
void KeyTable::remove(std::uint64_t key, std::uint32_t value) noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t gap = pair_slot(key, value);
  BATON_CHECK(slots_[gap].value != kNone, key, value);
  for (std::size_t at = next(gap); slots_[at].value != kNone; at = next(at)) {
    const std::size_t wanted = home(slots_[at].key);
    if (((at - wanted) & mask) >= ((at - gap) & mask)) {
      slots_[gap] = slots_[at];
      gap = at;
    }
  }
  slots_[gap].value = kNone;
  --size_;
}

// The pair's, or the free one where it would stand.
std::size_t KeyTable::pair_slot(std::uint64_t key, std::uint32_t value) const noexcept {
  std::size_t index = home(key);
  while (slots_[index].value != kNone && !(slots_[index].key == key && slots_[index].value == value)) {
    index = next(index);
  }
  return index;
}

void KeyTable::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  --shift_;
  for (const Slot& slot : old) {
    if (slot.value != kNone) {
      slots_[pair_slot(slot.key, slot.value)] = slot;
    }
  }
}

}  // namespace baton
