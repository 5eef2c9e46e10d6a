#include "runtime/op.h"

namespace baton {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeep = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kKeep = false;
#else
constexpr bool kKeep = true;
#endif
#else
constexpr bool kKeep = true;
#endif

}  // namespace

OpPool::~OpPool() {
  for (Free* node : free_) {
    while (node != nullptr) {
      Free* next = node->next;
      ::operator delete(node);
      node = next;
    }
  }
}

void* OpPool::allocate(std::size_t bytes) {
  const std::size_t size_class = (bytes + kStep - 1) / kStep;
  if (!kKeep || size_class >= kClasses) {
    return ::operator new(bytes);
  }
  if (Free* node = free_[size_class]) {
    free_[size_class] = node->next;
    return node;
  }
  return ::operator new(size_class * kStep);
}

void OpPool::release(void* memory, std::size_t bytes) noexcept {
  const std::size_t size_class = (bytes + kStep - 1) / kStep;
  if (!kKeep || size_class >= kClasses) {
    ::operator delete(memory);
    return;
  }
  free_[size_class] = new (memory) Free{free_[size_class]};
}

}  // namespace baton
