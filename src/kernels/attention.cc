// Attention: cuts queries into tiles and, where there are few tiles, positions into ranges. Neither cut shows in the
// results: each range is reduced on its own and merged in ascending order in any case.
#include "kernels/attention.h"

#include <algorithm>
#include <vector>

#include "kernels/kernel_table.h"
#include "runtime/check.h"

namespace baton::kernels {

namespace {

constexpr std::uint32_t kTileHeads = 16;  // query heads of a KV head that are computed together at most
constexpr std::uint32_t kTileRows = 48;   // query rows of a tile: its buffers stay in the second-level cache
static_assert(kTileHeads <= kTileRows && kTileRows <= kTileRowsMax);

// One tile's work. With `partials` its ranges are chunks of their own, else one chunk does them all.
struct Unit {
  AttentionTile tile;
  float* out = nullptr;       // of the tile's first token and head
  std::uint32_t end = 0;      // one past the position of the tile's last token
  float* partials = nullptr;  // [ranges][rows * (padded head_dim + 2)]

  std::uint32_t rows() const noexcept { return tile.tokens * tile.heads; }
  std::uint32_t ranges() const noexcept { return (end + kAttentionRange - 1) / kAttentionRange; }
  AttentionWork work(std::uint32_t range) const noexcept {
    return {&tile, range * kAttentionRange, std::min(end, (range + 1) * kAttentionRange)};
  }
  bool sees(std::uint32_t row, std::uint32_t range) const noexcept {
    return tile.first_position + row / tile.heads >= range * kAttentionRange;
  }
};

struct Task {
  std::uint32_t unit = 0;
  std::uint32_t range = 0;
};

struct Output {
  const AttentionKernels* kernels = nullptr;
  std::size_t head_dim = 0;
  std::size_t padded = 0;
  std::size_t stride = 0;  // floats from token to token
};

std::size_t partial_floats(const Unit& unit, std::size_t padded) noexcept {
  return unit.rows() * (padded + 2);
}

AttentionPartial partial_in(float* memory, const Unit& unit, std::size_t padded) noexcept {
  float* largest = memory + unit.rows() * padded;
  return {memory, largest, largest + unit.rows()};
}

AttentionPartial row_of(const AttentionPartial& partial, std::uint32_t row, std::size_t padded) noexcept {
  return {partial.values + row * padded, partial.largest + row, partial.sum + row};
}

void merge_rows(const Output& output, const Unit& unit, std::uint32_t range, const AttentionPartial& total,
                const AttentionPartial& other) {
  for (std::uint32_t row = 0; row < unit.rows(); ++row) {
    if (unit.sees(row, range)) {
      output.kernels->merge(row_of(total, row, output.padded), row_of(other, row, output.padded), output.padded);
    }
  }
}

void write_rows(const Output& output, const Unit& unit, const AttentionPartial& total) {
  for (std::uint32_t row = 0; row < unit.rows(); ++row) {
    float* out = unit.out + row / unit.tile.heads * output.stride + row % unit.tile.heads * output.head_dim;
    output.kernels->finish(row_of(total, row, output.padded), output.head_dim, out);
  }
}

// `next` is what the thread will probably do afterwards.
void attend_all_ranges(const Output& output, const Unit& unit, const AttentionWork& next) {
  alignas(64) float total_memory[kTileRowsMax * (kHeadDimMax + 2)];
  alignas(64) float other_memory[kTileRowsMax * (kHeadDimMax + 2)];
  const AttentionPartial total = partial_in(total_memory, unit, output.padded);
  const AttentionPartial other = partial_in(other_memory, unit, output.padded);
  for (std::uint32_t range = 0; range < unit.ranges(); ++range) {
    const AttentionWork after = range + 1 < unit.ranges() ? unit.work(range + 1) : next;
    output.kernels->range(unit.work(range), after, range == 0 ? total : other);
    if (range > 0) {
      merge_rows(output, unit, range, total, other);
    }
  }
  write_rows(output, unit, total);
}

void merge_ranges(const Output& output, const Unit& unit) {
  const std::size_t floats = partial_floats(unit, output.padded);
  const AttentionPartial total = partial_in(unit.partials, unit, output.padded);
  for (std::uint32_t range = 1; range < unit.ranges(); ++range) {
    merge_rows(output, unit, range, total, partial_in(unit.partials + range * floats, unit, output.padded));
  }
  write_rows(output, unit, total);
}

// Appends the tiles of one sequence. `tile` carries what all of them share.
void add_units(const AttentionSequence& sequence, AttentionTile tile, const KvLayoutView& layout, std::uint32_t layer,
               std::uint32_t group, const float* q, float* out, std::size_t out_stride, std::vector<Unit>& units) {
  tile.sequence = &sequence;
  const std::uint32_t heads = std::min(group, kTileHeads);
  const std::uint32_t tokens = kTileRows / heads;
  for (std::uint32_t token = 0; token < sequence.rows; token += tokens) {
    tile.tokens = std::min(tokens, sequence.rows - token);
    tile.first_position = sequence.first_position + token;
    const std::size_t row = std::size_t{sequence.first_row} + token;
    for (std::uint32_t kv_head = 0; kv_head < layout.kv_heads; ++kv_head) {
      tile.k_offset = kv_offset(layout, layer, 0, kv_head);
      tile.v_offset = kv_offset(layout, layer, 1, kv_head);
      for (std::uint32_t head = 0; head < group; head += heads) {
        const std::size_t column = std::size_t{kv_head * group + head} * layout.head_dim;
        tile.heads = std::min(heads, group - head);
        tile.q = q + row * tile.q_stride + column;
        units.push_back({tile, out + row * out_stride + column, tile.first_position + tile.tokens, nullptr});
      }
    }
  }
}

// Gives each unit of several ranges memory for partial results and lists what is to be computed. Last tiles of a
// sequence come first, since they see the most positions; split units come range by range, so that the KV heads of a
// range, which share pages of memory, are computed one after the other.
std::vector<Task> split_units(Lane& lane, std::size_t padded, std::vector<Unit>& units) {
  std::vector<Task> tasks;
  const bool split = units.size() < std::size_t{4} * lane.threads();
  std::uint32_t ranges_max = 1;
  for (std::size_t i = units.size(); i-- > 0;) {
    Unit& unit = units[i];
    if (!split || unit.ranges() == 1) {
      tasks.push_back({static_cast<std::uint32_t>(i), 0});
      continue;
    }
    const std::size_t bytes = unit.ranges() * partial_floats(unit, padded) * sizeof(float);
    unit.partials = reinterpret_cast<float*>(lane.scratch(bytes));
    ranges_max = std::max(ranges_max, unit.ranges());
  }
  for (std::uint32_t range = 0; range < ranges_max; ++range) {
    for (std::uint32_t i = 0; i < units.size(); ++i) {
      if (units[i].partials != nullptr && range < units[i].ranges()) {
        tasks.push_back({i, range});
      }
    }
  }
  return tasks;
}

}  // namespace

void attention(Lane& lane, const KvLayoutView& layout, std::uint32_t layer,
               std::span<const AttentionSequence> sequences, const float* q, std::size_t q_stride, std::uint32_t heads,
               float scale, float* out, std::size_t out_stride) {
  check_layout(layout, layer);
  BATON_CHECK(heads > 0 && heads % layout.kv_heads == 0, heads, layout.kv_heads);
  const ScratchScope scope(lane);
  AttentionTile shared;
  shared.layout = &layout;
  shared.q_stride = q_stride;
  shared.scale = scale;
  std::vector<Unit> units;
  for (const AttentionSequence& sequence : sequences) {
    add_units(sequence, shared, layout, layer, heads / layout.kv_heads, q, out, out_stride, units);
  }
  const Output output = {&attention_kernels(lane.isa()), layout.head_dim, padded_head_dim(layout.head_dim), out_stride};
  const std::vector<Task> tasks = split_units(lane, output.padded, units);
  lane.parallel_for(static_cast<unsigned>(tasks.size()), [&](unsigned chunk) {
    const Task task = tasks[chunk];
    const Unit& unit = units[task.unit];
    // Threads claim tasks in turns; a wrong guess costs a few lines of cache.
    const std::size_t after = std::size_t{chunk} + lane.threads();
    const AttentionWork next =
        after < tasks.size() ? units[tasks[after].unit].work(tasks[after].range) : AttentionWork();
    if (unit.partials == nullptr) {
      attend_all_ranges(output, unit, next);
      return;
    }
    float* memory = unit.partials + task.range * partial_floats(unit, output.padded);
    output.kernels->range(unit.work(task.range), next, partial_in(memory, unit, output.padded));
  });
  for (const Unit& unit : units) {
    if (unit.partials != nullptr) {
      merge_ranges(output, unit);
    }
  }
}

}  // namespace baton::kernels
