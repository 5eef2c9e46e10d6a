#include "kernels/scratch.h"

#include <algorithm>
#include <new>

namespace baton::kernels {

namespace {
constexpr std::size_t kAlign = 64;
constexpr std::size_t kFirstBlock = std::size_t{256} << 10;
}  // namespace

void Scratch::Free::operator()(std::byte* pointer) const noexcept {
  ::operator delete(pointer, std::align_val_t{kAlign});
}

Scratch::Block Scratch::make_block(std::size_t bytes) {
  Block block;
  block.data.reset(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{kAlign})));
  block.size = bytes;
  return block;
}

std::byte* Scratch::take(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlign - 1) / kAlign * kAlign;
  while (current_ < blocks_.size() && blocks_[current_].size - blocks_[current_].used < rounded) {
    if (current_ + 1 == blocks_.size()) {
      break;
    }
    ++current_;
    blocks_[current_].used = 0;
  }
  if (blocks_.empty() || blocks_[current_].size - blocks_[current_].used < rounded) {
    const std::size_t last = blocks_.empty() ? kFirstBlock / 2 : blocks_.back().size;
    blocks_.push_back(make_block(std::max(rounded, last * 2)));
    current_ = blocks_.size() - 1;
  }
  Block& block = blocks_[current_];
  std::byte* piece = block.data.get() + block.used;
  block.used += rounded;
  return piece;
}

void Scratch::release(Mark mark) noexcept {
  current_ = mark.block;
  if (!blocks_.empty()) {
    blocks_[current_].used = mark.used;
  }
}

void Scratch::reset() {
  if (blocks_.size() > 1) {
    std::size_t total = 0;
    for (const Block& block : blocks_) {
      total += block.size;
    }
    blocks_.clear();
    blocks_.push_back(make_block(total));
  }
  release({});
}

}  // namespace baton::kernels
