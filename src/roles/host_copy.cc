#include "roles/host_copy.h"

#include <algorithm>
#include <cstring>

#include "runtime/check.h"
#include "runtime/sleep.h"

namespace baton {
namespace {

constexpr std::size_t kSliceBytes = std::size_t{1} << 20;  // about 0.1 ms: what the rank's other tasks may wait

Task<> copy(Context& context, std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += kSliceBytes) {
    std::memcpy(to + done, from + done, std::min(kSliceBytes, bytes - done));
    co_await yield(context);
  }
}

}  // namespace

Task<> HostCopy::save(Context& context, Engine& engine, const KvArena& arena, std::span<const PageId> pages) {
  BATON_CHECK(empty(), pages_);
  const std::size_t page_bytes = arena.layout().page_bytes();
  const std::size_t copied = arena.has_memory() ? pages.size() : 0;
  data_ = std::make_unique_for_overwrite<std::byte[]>(page_bytes * copied);
  for (std::size_t i = 0; i < copied; ++i) {
    co_await copy(context, data_.get() + i * page_bytes, arena.page(pages[i]).data(), page_bytes);
  }
  pages_ = static_cast<std::uint32_t>(pages.size());
  bytes_ = page_bytes * pages.size();
  if (!arena.has_memory()) {
    co_await engine.host_copy(bytes_);
  }
}

Task<> HostCopy::restore(Context& context, Engine& engine, KvArena& arena, std::span<const PageId> pages) {
  BATON_CHECK(pages.size() >= pages_, pages.size(), pages_);
  const std::size_t page_bytes = arena.layout().page_bytes();
  for (std::size_t i = 0; i < pages_ && arena.has_memory(); ++i) {
    co_await copy(context, arena.page(pages[i]).data(), data_.get() + i * page_bytes, page_bytes);
  }
  if (!arena.has_memory()) {
    co_await engine.host_copy(bytes_);
  }
  drop();
}

void HostCopy::drop() noexcept {
  data_.reset();
  pages_ = 0;
  bytes_ = 0;
}

}  // namespace baton
