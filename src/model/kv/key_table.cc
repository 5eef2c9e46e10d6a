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
  Slot& slot = slots_[slot_of(key)];
  BATON_CHECK(slot.value == kNone, key, slot.value);
  slot = {key, value};
  ++size_;
}

// The gap that a removal leaves would end the search for entries behind it: whichever of them may stand there moves in.
void KeyTable::remove(std::uint64_t key) noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t gap = slot_of(key);
  BATON_CHECK(slots_[gap].value != kNone, key);
  for (std::size_t next = (gap + 1) & mask; slots_[next].value != kNone; next = (next + 1) & mask) {
    const std::size_t wanted = home(slots_[next].key);
    if (((next - wanted) & mask) >= ((next - gap) & mask)) {
      slots_[gap] = slots_[next];
      gap = next;
    }
  }
  slots_[gap].value = kNone;
  --size_;
}

void KeyTable::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  --shift_;
  for (const Slot& slot : old) {
    if (slot.value != kNone) {
      slots_[slot_of(slot.key)] = slot;
    }
  }
}

}  // namespace baton
