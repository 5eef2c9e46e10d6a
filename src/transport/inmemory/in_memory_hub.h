// The transport between ranks of one process: notices go to the other rank's mailbox, pages stay or are copied.
//
//   shared   every rank may write the receiver's arena, and prefill's engine computes straight into decode's pages:
//            the hand-over moves no bytes
//   copying  arenas are apart, as on two devices: pages are copied by the sending rank's thread, in slices; a write
//            into an arena without memory copies nothing
//
// One hub a process, made first and destroyed last, shared by all ranks; its members may be called from any thread.
// A rank's arena outlives its endpoint: when that ends no copy into it is under way, and none begins. In shared mode
// whoever computes in the arena must have stopped before. Ranks may run on one context (a simulation) or on one thread
// each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "model/kv/kv_arena.h"
#include "runtime/context.h"
#include "runtime/mailbox.h"
#include "transport/endpoint.h"

namespace baton {

enum class MemoryMode : std::uint8_t { shared, copying };

class InMemoryHub final {
 public:
  explicit InMemoryHub(MemoryMode mode) : mode_(mode) {}
  ~InMemoryHub();  // every endpoint has ended, or it is a bug
  InMemoryHub(const InMemoryHub&) = delete;
  InMemoryHub& operator=(const InMemoryHub&) = delete;

  // Connects a rank until the endpoint is destroyed, on the context's thread or while that does not run. arena: where
  // this rank's pool has its pages and others may write; null for a rank that only sends. One endpoint a peer id.
  std::unique_ptr<Endpoint> attach(Context& context, const PeerId& self, KvArena* arena);

  MemoryMode mode() const noexcept { return mode_; }
  std::uint64_t lost_notices() const;  // posted to a rank that was gone or did not read

 private:
  friend class InMemoryEndpoint;
  class Gate;

  struct Rank {
    Mailbox<Notice>::Sender inbox;
    KvArena* arena = nullptr;
    std::uint64_t memory_key = 0;
    std::shared_ptr<Gate> gate;  // every copy into the arena passes through it
  };

  std::optional<Rank> find(const PeerId& peer) const;
  void detach(const PeerId& peer) noexcept;
  void fence(const PeerId& target, const PeerId& writer) noexcept;
  void deliver(const PeerId& to, Notice notice) noexcept;

  MemoryMode mode_;
  mutable std::mutex mutex_;  // over what follows; held for look-ups only
  std::unordered_map<PeerId, Rank> ranks_;
  std::uint64_t next_key_ = 1;
  std::uint64_t lost_notices_ = 0;
};

}  // namespace baton
