// One operator cut into chunks that threads claim from a counter.
//
// The leader publishes the job, claims chunks like everybody else and in the end waits only for chunks that others
// have claimed: a helper that the operating system has taken off its core before it claimed anything costs nothing.
// Claims and the chunk count share one word, so a helper holding a pointer to a job that has ended and begun anew can
// never claim a chunk that is not there: jobs need no identity.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace baton::kernels {

// Lives as long as the pool; begin() and finish() belong to one leading thread, help() to any thread.
class alignas(64) ParallelJob final {
 public:
  using Function = void (*)(void* context, unsigned chunk);

  void begin(Function function, void* context, std::uint32_t chunks) noexcept;  // requires that no job is running
  void finish();  // works through what is left, waits for claimed chunks; rethrows the first exception of a chunk
  bool help() noexcept;  // runs one chunk if one is left to claim

 private:
  bool claim(std::uint32_t& chunk, std::uint32_t& chunks) noexcept;
  void run(std::uint32_t chunk) noexcept;

  std::atomic<std::uint64_t> state_{0};     // chunks << 32 | next chunk to claim
  std::atomic<std::uint32_t> finished_{0};  // chunks done; the leader may sleep on it
  std::atomic<bool> leader_sleeps_{false};
  std::atomic<bool> failed_{false};
  Function function_ = nullptr;  // written by the leader between jobs, read only by holders of a claim
  void* context_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace baton::kernels
