#include "kernels/huge_buffer.h"

#include <cstdint>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace baton::kernels {

namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}

HugeBuffer::HugeBuffer(std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  if (bytes > SIZE_MAX - 2 * kHugePage) {
    throw std::bad_alloc();
  }
  const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  const std::size_t mapped = rounded + kHugePage;  // room to align inside: mmap promises 4 KiB only
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw std::bad_alloc();
  }
  mapping_ = mapping;
  mapping_bytes_ = mapped;
  auto address = reinterpret_cast<std::uintptr_t>(mapping);
  address = (address + kHugePage - 1) / kHugePage * kHugePage;
  data_ = reinterpret_cast<std::byte*>(address);
  size_ = bytes;
  // Advice only: without transparent huge pages the memory works, slower.
  (void)madvise(data_, rounded, MADV_HUGEPAGE);
}

HugeBuffer::HugeBuffer(HugeBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)) {}

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

HugeBuffer::~HugeBuffer() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapping_bytes_);
  }
}

}  // namespace baton::kernels
