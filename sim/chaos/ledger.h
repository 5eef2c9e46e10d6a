// Ledger: who may write and read which page, kept beside the code under test and compared with what it does.
//
// It hears of every landing as it leaves its decode rank, of every write as its bytes are applied, and of every engine
// step as it begins and ends. A page's owner is the room whose landing named it, for as long as the pool has not given
// it out again (its generation). Rules it checks at once:
//   - nobody but that landing's source writes such a page, and nobody writes a page that is free;
//   - an engine's pages stay what they are from the step's begin to its end;
//   - nobody writes a page that its pool has in the prefix cache: others read it;
//   - no page is read, and no first token shown, before everything of the hand-over has landed and been announced.
// Pages that no landing named (a rank's own) are under the second rule only. One run, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/engine/engine.h"
#include "model/kv/kv_arena.h"
#include "model/kv/kv_pool.h"
#include "sim/chaos/chronicle.h"
#include "transport/transfer.h"

namespace baton::chaos {

class Ledger final {
 public:
  explicit Ledger(Chronicle& chronicle) : chronicle_(chronicle) {}

  // A rank's life. Pool and arena outlive it; ranks without an arena are not told.
  void rank_up(const PeerId& peer, const KvPool& pool, KvArena& arena);
  void rank_down(RankId rank);

  // Null when that instance is not alive.
  KvArena* arena_of(const PeerId& peer) const;

  void landing_posted(const Landing& landing);
  // Bytes of one page are about to be applied from afar. whole: all bytes of it, so that it has landed.
  void remote_write(const PeerId& writer, const PeerId& target, RoomId room, PageId page, bool whole);
  // Notice of a write has been delivered at the landing's rank: pages [first_page, first_page + pages) of the landing.
  void write_announced(RoomId room, std::uint32_t first_page, std::uint32_t pages);
  // Decode shows the first token of a room that was handed over.
  void first_token(RoomId room);

  // Pages of a step and the lives they were in when it began.
  struct StepPages {
    struct Life {
      PageId page = 0;
      std::uint32_t generation = 0;
    };
    struct Sequence {
      std::byte* arena = nullptr;
      std::size_t first = 0;  // of its pages among those of the step
      std::size_t count = 0;
      std::uint32_t position = 0;
      std::uint32_t rows = 0;
    };
    std::vector<Sequence> sequences;
    std::vector<Life> lives;

    std::span<const Life> pages_of(const Sequence& sequence) const {
      return std::span(lives).subspan(sequence.first, sequence.count);
    }
  };
  StepPages step_begins(RankId engine, const StepBatch& batch);
  void step_ends(RankId engine, const StepPages& pages);

  // The pages of every pool add up. Cheap, for every step of the clock.
  void check_pools();

 private:
  struct Page {
    RoomId owner;                  // of the landing that named it; none: the rank's own
    PeerId writer;                 // the landing's source
    std::uint32_t generation = 0;  // of the pool, when the landing was made
    std::uint32_t landed = 0;      // positions, from the page's first one on
  };
  struct Memory {
    PeerId peer;
    const KvPool* pool;
    KvArena* arena;
    std::vector<Page> pages;
  };
  struct HandOver {
    PeerId target;
    std::uint32_t tokens = 0;  // of the prompt, that are to arrive
    std::vector<PageId> pages;
    std::vector<std::uint32_t> generations;
    std::vector<bool> announced;  // by page
    bool shown = false;
  };

  Memory* memory_at(const std::byte* base);
  Page* owned(Memory& memory, PageId page);  // null: no landing's, in its present life
  void check_reads(const Memory& memory, std::span<const StepPages::Life> pages, std::uint32_t position);
  void check_writer(RankId engine, Memory& memory, const StepPages& step, const StepPages::Sequence& sequence);

  Chronicle& chronicle_;
  std::map<RankId, Memory> memories_;
  std::vector<const KvPool*> pools_;  // theirs
  std::unordered_map<RoomId, HandOver> hand_overs_;
};

}  // namespace baton::chaos
