// The memory that keys and values live in: a number of pages of one layout, one after another, page-aligned.
//
// The arena knows no owner of a page; KvPool does the accounting. Ranks of one process may share an arena, and the
// thread that writes a page is the one its lease's owner asked to. It must outlive every pool, engine step and
// transfer that touches it: a network card may still write into a page whose request has ended long ago.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/kv/kv_layout.h"
#include "runtime/ids.h"

namespace baton {

class KvArena final {
 public:
  // Reserves the address range; memory is committed as pages are first touched, in huge pages where the arena is
  // large enough and the kernel gives them. Throws Error(Errc::too_large) when the range cannot be had.
  // Memory::none: pages that exist in the books alone, for engines and endpoints that touch none; page(), poison() and
  // poisoned() are then not to be called, and base() is an address without bytes.
  enum class Memory : std::uint8_t { reserved, none };
  KvArena(const KvLayout& layout, std::uint32_t pages, Memory memory = Memory::reserved);
  ~KvArena();
  KvArena(const KvArena&) = delete;
  KvArena& operator=(const KvArena&) = delete;

  const KvLayout& layout() const noexcept { return layout_; }
  std::uint32_t pages() const noexcept { return pages_; }
  std::size_t bytes() const noexcept { return layout_.page_bytes() * pages_; }
  bool has_memory() const noexcept { return mapped_bytes_ > 0; }
  std::byte* base() noexcept { return base_; }
  const std::byte* base() const noexcept { return base_; }

  // The bytes of one page, layout().page_bytes() of them. page < pages().
  std::span<std::byte> page(PageId page);
  std::span<const std::byte> page(PageId page) const;

  // Fills a page with a pattern that no computed page has, and tells whether it is still all there.
  void poison(PageId page);
  bool poisoned(PageId page) const;

 private:
  KvLayout layout_;
  std::uint32_t pages_;
  std::byte nothing_{};  // what base() points to where there is no memory
  std::size_t mapped_bytes_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace baton
