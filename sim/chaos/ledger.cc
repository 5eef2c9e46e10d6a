#include "sim/chaos/ledger.h"

#include <algorithm>

#include <fmt/format.h>

namespace baton::chaos {

void Ledger::rank_up(const PeerId& peer, const KvPool& pool, KvArena& arena) {
  Memory memory{peer, &pool, &arena, std::vector<Page>(arena.pages())};
  memories_.insert_or_assign(peer.rank, std::move(memory));
  pools_.push_back(&pool);
}

void Ledger::rank_down(RankId rank) {
  if (const auto found = memories_.find(rank); found != memories_.end()) {
    std::erase(pools_, found->second.pool);
    memories_.erase(found);
  }
}

KvArena* Ledger::arena_of(const PeerId& peer) const {
  const auto found = memories_.find(peer.rank);
  return found != memories_.end() && found->second.peer == peer ? found->second.arena : nullptr;
}

Ledger::Memory* Ledger::memory_at(const std::byte* base) {
  for (auto& [rank, memory] : memories_) {
    if (memory.arena->base() == base) {
      return &memory;
    }
  }
  return nullptr;
}

Ledger::Page* Ledger::owned(Memory& memory, PageId page) {
  Page& shadow = memory.pages[page];
  return shadow.owner.value != 0 && shadow.generation == memory.pool->generation(page) ? &shadow : nullptr;
}

void Ledger::landing_posted(const Landing& landing) {
  const auto found = memories_.find(landing.target.rank);
  if (found == memories_.end() || found->second.peer != landing.target) {
    return;
  }
  Memory& memory = found->second;
  HandOver hand_over{landing.target, landing.prompt_tokens - landing.first_position, landing.pages, {}, {}, false};
  hand_over.announced.resize(landing.pages.size());
  for (const PageId page : landing.pages) {
    const std::uint32_t generation = memory.pool->generation(page);
    if (memory.pool->state(page) != PageState::leased) {
      chronicle_.blame("page",
                       fmt::format("{} offers page {}, which it has not leased", to_string(landing.target), page),
                       landing.id.room);
    }
    memory.pages[page] = {landing.id.room, landing.source, generation, 0};
    hand_over.generations.push_back(generation);
  }
  hand_overs_.insert_or_assign(landing.id.room, std::move(hand_over));
}

void Ledger::remote_write(const PeerId& writer, const PeerId& target, RoomId room, PageId page, bool whole) {
  Memory& memory = memories_.at(target.rank);
  const auto blame = [&](const char* what) {
    chronicle_.blame("page",
                     fmt::format("a write of {} for room {} lands in page {} of {}, which {}", to_string(writer),
                                 to_string(room), page, to_string(target), what),
                     room);
  };
  if (memory.pool->state(page) == PageState::free) {
    return blame("is free");
  }
  if (memory.pool->state(page) == PageState::cached) {
    return blame("is in the prefix cache");
  }
  Page* shadow = owned(memory, page);
  if (shadow == nullptr) {
    return blame("has been given out again since");
  }
  if (shadow->owner != room || shadow->writer != writer) {
    return blame(fmt::format("belongs to room {} and {}", to_string(shadow->owner), to_string(shadow->writer)).c_str());
  }
  if (whole) {
    shadow->landed = memory.pool->layout().page_tokens;
  }
}

void Ledger::write_announced(RoomId room, std::uint32_t first_page, std::uint32_t pages) {
  const auto found = hand_overs_.find(room);
  if (found == hand_overs_.end()) {
    return;
  }
  std::vector<bool>& announced = found->second.announced;
  for (std::size_t page = first_page; page < std::min<std::size_t>(first_page + pages, announced.size()); ++page) {
    announced[page] = true;
  }
}

void Ledger::first_token(RoomId room) {
  const auto found = hand_overs_.find(room);
  if (found == hand_overs_.end() || std::exchange(found->second.shown, true)) {
    return;
  }
  const HandOver& hand_over = found->second;
  const auto memory = memories_.find(hand_over.target.rank);
  if (memory == memories_.end() || memory->second.peer != hand_over.target) {
    return;
  }
  const std::uint32_t page_tokens = memory->second.pool->layout().page_tokens;
  for (std::uint32_t i = 0; i < hand_over.pages.size(); ++i) {
    const Page& shadow = memory->second.pages[hand_over.pages[i]];
    const std::uint32_t needed = std::min(page_tokens, hand_over.tokens - i * page_tokens);
    if (shadow.owner != room || shadow.generation != hand_over.generations[i] || shadow.landed < needed) {
      return chronicle_.blame("early",
                              fmt::format("{} shows a token of room {} before its page {} has landed",
                                          to_string(hand_over.target), to_string(room), i),
                              room);
    }
    if (!hand_over.announced[i]) {  // nobody can know that it has landed
      return chronicle_.blame("early",
                              fmt::format("{} shows a token of room {} before it has heard of page {}",
                                          to_string(hand_over.target), to_string(room), i),
                              room);
    }
  }
}

Ledger::StepPages Ledger::step_begins(RankId engine, const StepBatch& batch) {
  StepPages step;
  step.sequences.reserve(batch.sequences.size());
  std::size_t pages = 0;
  for (const StepSequence& sequence : batch.sequences) {
    pages += sequence.pages.size();
  }
  step.lives.reserve(pages);
  for (const StepSequence& sequence : batch.sequences) {
    Memory* memory = memory_at(sequence.arena);
    if (memory == nullptr) {
      chronicle_.blame("page", fmt::format("{} computes in memory of no living rank", to_string(engine)));
      continue;
    }
    const std::uint32_t page_tokens = memory->pool->layout().page_tokens;
    const auto rows = static_cast<std::uint32_t>(sequence.tokens.size());
    const std::uint32_t used = (sequence.position + rows + page_tokens - 1) / page_tokens;
    StepPages::Sequence& noted = step.sequences.emplace_back();
    noted.arena = sequence.arena;
    noted.position = sequence.position;
    noted.rows = rows;
    noted.first = step.lives.size();
    noted.count = std::min<std::size_t>(used, sequence.pages.size());
    for (const PageId page : sequence.pages.first(noted.count)) {
      step.lives.push_back({page, memory->pool->generation(page)});
      if (memory->pool->state(page) == PageState::free) {
        chronicle_.blame("page", fmt::format("{} begins a step on page {}, which is free", to_string(engine), page));
      }
    }
    check_reads(*memory, step.pages_of(noted), noted.position);
  }
  return step;
}

// What a step reads has landed, where it came by a hand-over.
void Ledger::check_reads(const Memory& memory, std::span<const StepPages::Life> pages, std::uint32_t position) {
  const std::uint32_t page_tokens = memory.pool->layout().page_tokens;
  for (std::uint32_t i = 0; i < pages.size() && i * page_tokens < position; ++i) {
    const Page& shadow = memory.pages[pages[i].page];
    const bool handed_over = shadow.owner.value != 0 && shadow.generation == pages[i].generation;
    const std::uint32_t needed = std::min(page_tokens, position - i * page_tokens);
    if (handed_over && shadow.landed < needed) {
      return chronicle_.blame("early",
                              fmt::format("{} positions of page {} of {} are read, {} have landed", needed,
                                          pages[i].page, to_string(memory.peer), shadow.landed),
                              shadow.owner);
    }
  }
}

void Ledger::step_ends(RankId engine, const StepPages& step) {
  for (const StepPages::Sequence& sequence : step.sequences) {
    Memory* memory = memory_at(sequence.arena);
    if (memory == nullptr) {
      continue;  // blamed already, or the world is being torn down
    }
    for (const auto& [page, generation] : step.pages_of(sequence)) {
      if (memory->pool->state(page) == PageState::free || memory->pool->generation(page) != generation) {
        return chronicle_.blame("page",
                                fmt::format("page {} of {} was given back while a step of {} used it", page,
                                            to_string(memory->peer), to_string(engine)),
                                memory->pages[page].owner);
      }
    }
    check_writer(engine, *memory, step, sequence);
  }
}

// A step's rows are in the pages now: by the landing's source while the prompt is handed over in place, and by the
// rank itself behind what has landed.
void Ledger::check_writer(RankId engine, Memory& memory, const StepPages& step, const StepPages::Sequence& sequence) {
  const std::span<const StepPages::Life> pages = step.pages_of(sequence);
  const std::uint32_t page_tokens = memory.pool->layout().page_tokens;
  for (std::uint32_t row = sequence.position; row < sequence.position + sequence.rows; ++row) {
    const PageId page = pages[row / page_tokens].page;
    if (memory.pool->state(page) == PageState::cached) {
      return chronicle_.blame("page", fmt::format("{} computes in page {} of {}, which is in the prefix cache",
                                                  to_string(engine), page, to_string(memory.peer)));
    }
    Page* shadow = owned(memory, page);
    if (shadow == nullptr) {
      continue;
    }
    const std::uint32_t offset = row % page_tokens;
    if (engine != memory.peer.rank && engine != shadow->writer.rank) {
      return chronicle_.blame("page",
                              fmt::format("{} computes in page {} of {}, which {} writes", to_string(engine), page,
                                          to_string(memory.peer), to_string(shadow->writer)),
                              shadow->owner);
    }
    if (shadow->landed < offset) {
      return chronicle_.blame("early",
                              fmt::format("{} writes position {} of page {}, of which {} have landed",
                                          to_string(engine), offset, page, shadow->landed),
                              shadow->owner);
    }
    shadow->landed = std::max(shadow->landed, offset + 1);
  }
}

void Ledger::check_pools() {
  for (const KvPool* pool : pools_) {
    if (pool->free() + pool->leased() + pool->cached() + pool->quarantined() != pool->capacity()) {
      chronicle_.blame(
          "page", fmt::format("the pages of a pool do not add up: {} free, {} leased, {} cached, {} quarantined of {}",
                              pool->free(), pool->leased(), pool->cached(), pool->quarantined(), pool->capacity()));
    }
  }
}

}  // namespace baton::chaos
