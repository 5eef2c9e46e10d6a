// Keys and values of a retracted request in host memory, until it gets pages again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "model/engine/engine.h"
#include "model/kv/kv_arena.h"
#include "runtime/context.h"
#include "runtime/ids.h"
#include "runtime/task.h"

namespace baton {

class HostCopy final {
 public:
  bool empty() const noexcept { return pages_ == 0; }
  std::uint32_t pages() const noexcept { return pages_; }
  std::size_t bytes() const noexcept { return bytes_; }

  // Copies the pages out, a megabyte at a time with the loop running between. The arena's pages must not change
  // meanwhile. Not cancellable. Pages of an arena without memory take no bytes, and the time that the engine says.
  Task<> save(Context& context, Engine& engine, const KvArena& arena, std::span<const PageId> pages);

  // Copies back into the first pages() of `pages` and frees the host memory.
  Task<> restore(Context& context, Engine& engine, KvArena& arena, std::span<const PageId> pages);

  void drop() noexcept;

 private:
  std::unique_ptr<std::byte[]> data_;
  std::uint32_t pages_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace baton
