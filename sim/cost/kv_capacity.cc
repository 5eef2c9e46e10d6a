#include "sim/cost/kv_capacity.h"

#include <cmath>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "sim/cost/layer_work.h"
#include "sim/cost/roofline.h"

namespace baton::sim {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

// Of one layer on one GPU.
double layer_bytes(const StepSetup& setup) {
  return prefill_attention(setup.model, setup.precision, setup.parallel.tp).bytes_per_context;
}

[[noreturn]] void refuse(const std::string& words) {
  throw Error(Errc::too_large, words);
}

}  // namespace

double kv_bytes_per_gpu(const StepSetup& setup) {
  const double layers = std::ceil(static_cast<double>(setup.model.layers) / setup.parallel.pp);
  const double full = static_cast<double>(setup.model.layers - setup.model.windowed_layers()) / setup.model.layers;
  return layers * full * layer_bytes(setup);
}

KvCapacity kv_capacity(const StepSetup& setup, const MemorySetup& memory) {
  KvCapacity capacity;
  capacity.computed = !memory.kv_tokens.has_value();
  capacity.weight_bytes = weight_bytes_per_gpu(setup.model, setup.precision, weight_split(setup));
  capacity.bytes_per_token = kv_bytes_per_gpu(setup);
  const double windows = static_cast<double>(memory.sequences) * setup.model.window * setup.model.windowed_layers() *
                         layer_bytes(setup) / setup.parallel.pp;
  const double whole = setup.hardware.memory_bytes;
  if (memory.kv_tokens) {
    capacity.tokens = *memory.kv_tokens;
    const double need = static_cast<double>(capacity.tokens) * capacity.bytes_per_token;
    capacity.arithmetic = fmt::format(
        "{} tokens given: {:.2f} GiB of keys and values at {:.0f} B a token, {:.2f} GiB of "
        "weights, {:.2f} GiB of windows, of {:.2f} GiB",
        capacity.tokens, need / kGib, capacity.bytes_per_token, capacity.weight_bytes / kGib, windows / kGib,
        whole / kGib);
    if (need + capacity.weight_bytes + windows > whole) {
      refuse("the memory of a GPU is too small: " + capacity.arithmetic);
    }
    return capacity;
  }
  const double rest = (memory.activation_gib + memory.graph_gib + memory.collective_gib) * kGib;
  const double left = memory.fraction * whole - capacity.weight_bytes - rest - windows;
  capacity.tokens = left > 0 ? static_cast<std::uint64_t>(left / capacity.bytes_per_token) : 0;
  capacity.arithmetic = fmt::format(
      "({} * {:.2f} GiB - {:.2f} weights - {:.2f} activations - {:.2f} graphs - {:.2f} collectives - {:.2f} windows) / "
      "{:.0f} B a token = {:.2f} GiB / {:.0f} B = {} tokens",
      memory.fraction, whole / kGib, capacity.weight_bytes / kGib, memory.activation_gib, memory.graph_gib,
      memory.collective_gib, windows / kGib, capacity.bytes_per_token, left / kGib, capacity.bytes_per_token,
      capacity.tokens);
  if (capacity.tokens == 0) {
    refuse("the model leaves no room for keys and values: " + capacity.arithmetic);
  }
  return capacity;
}

void require_room(const KvCapacity& capacity, std::uint64_t sequences, std::uint64_t tokens_each) {
  if (sequences * tokens_each > capacity.tokens) {
    refuse(fmt::format("{} sequences of {} tokens need {} tokens, but there are {}: at most {} fit; {}", sequences,
                       tokens_each, sequences * tokens_each, capacity.tokens, capacity.tokens / tokens_each,
                       capacity.arithmetic));
  }
}

}  // namespace baton::sim
