// Private zero-filled memory for weights and KV arenas, asking the kernel for 2 MiB pages: reading weights from them
// is a third faster than from 4 KiB pages with two threads (measured in bench_kernels' yardstick).
#pragma once

#include <cstddef>

namespace baton::kernels {

// Owns one mapping; movable. The memory is committed as it is touched. Not synchronised, like any plain memory.
class HugeBuffer final {
 public:
  HugeBuffer() noexcept = default;
  explicit HugeBuffer(std::size_t bytes);  // aligned to 2 MiB; throws std::bad_alloc
  HugeBuffer(HugeBuffer&& other) noexcept;
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;
  HugeBuffer(const HugeBuffer&) = delete;
  HugeBuffer& operator=(const HugeBuffer&) = delete;
  ~HugeBuffer();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }  // as asked for

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
};

}  // namespace baton::kernels
