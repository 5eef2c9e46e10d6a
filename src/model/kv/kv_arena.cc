#include "model/kv/kv_arena.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <sys/mman.h>

#include "runtime/check.h"
#include "runtime/errors.h"

namespace baton {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// As half floats about -27500, as floats about -3e31: no key or value of a working model is made of only this.
constexpr std::byte kPoison{0xf6};

}  // namespace

KvArena::KvArena(const KvLayout& layout, std::uint32_t pages, Memory memory) : layout_(layout), pages_(pages) {
  BATON_CHECK(layout.page_bytes() > 0 && pages > 0, layout.page_bytes(), pages);
  if (pages > (std::numeric_limits<std::size_t>::max() - kHugePageBytes) / layout.page_bytes()) {
    throw Error(Errc::too_large,
                fmt::format("{} KV pages of {} bytes do not fit the address space", pages, layout.page_bytes()));
  }
  if (memory == Memory::none) {
    base_ = &nothing_;
    return;
  }
  const bool huge = bytes() >= kHugePageBytes;  // a smaller one would have a whole huge page cleared for it
  mapped_bytes_ = huge ? (bytes() + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes : bytes();
  void* mapped = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw Error(Errc::too_large, fmt::format("cannot reserve {} bytes for {} KV pages", mapped_bytes_, pages));
  }
  if (huge) {
    madvise(mapped, mapped_bytes_, MADV_HUGEPAGE);  // an optimisation; kernels without it work as well
  }
  base_ = static_cast<std::byte*>(mapped);
}

KvArena::~KvArena() {
  if (has_memory()) {
    munmap(base_, mapped_bytes_);
  }
}

std::span<std::byte> KvArena::page(PageId page) {
  BATON_CHECK(page < pages_ && has_memory(), page, pages_);
  return {base_ + page * layout_.page_bytes(), layout_.page_bytes()};
}

std::span<const std::byte> KvArena::page(PageId page) const {
  BATON_CHECK(page < pages_ && has_memory(), page, pages_);
  return {base_ + page * layout_.page_bytes(), layout_.page_bytes()};
}

void KvArena::poison(PageId page) {
  const std::span<std::byte> bytes = this->page(page);
  std::memset(bytes.data(), static_cast<int>(kPoison), bytes.size());
}

bool KvArena::poisoned(PageId page) const {
  const std::span<const std::byte> bytes = this->page(page);
  // The first byte is right and each is equal to the next: memcmp looks at a vector at a time.
  return bytes.front() == kPoison && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace baton
