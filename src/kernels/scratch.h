// A bump allocator for one running step: 64-byte aligned pieces that all end together. Pieces never move. Memory is
// kept between steps, so a step in the steady state allocates nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace baton::kernels {

// Owned by one pool thread; not synchronised. Chunks of an operator may write into pieces handed out before it.
class Scratch final {
 public:
  struct Mark {
    std::size_t block = 0;
    std::size_t used = 0;
  };

  std::byte* take(std::size_t bytes);  // uninitialised; throws std::bad_alloc
  Mark mark() const noexcept { return {current_, blocks_.empty() ? 0 : blocks_[current_].used}; }
  void release(Mark mark) noexcept;  // ends every piece taken since `mark`
  void reset();                      // ends all pieces; several blocks become one, so that the next step is one run

 private:
  struct Free {
    void operator()(std::byte* pointer) const noexcept;
  };
  struct Block {
    std::unique_ptr<std::byte, Free> data;
    std::size_t size = 0;
    std::size_t used = 0;
  };
  static Block make_block(std::size_t bytes);

  std::vector<Block> blocks_;
  std::size_t current_ = 0;
};

}  // namespace baton::kernels
