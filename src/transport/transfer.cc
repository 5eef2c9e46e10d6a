#include "transport/transfer.h"

namespace baton {
namespace {

std::size_t mix(std::size_t seed, std::uint64_t value) noexcept {
  // The finaliser of SplitMix64 (Steele, Lea, Flood 2014): good spread for ids that differ in few bits.
  std::uint64_t x = seed + 0x9e3779b97f4a7c15U + value;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::size_t>(x ^ (x >> 31));
}

std::size_t mix(std::size_t seed, const InstanceId& instance) noexcept {
  return mix(mix(seed, instance.high), instance.low);
}

}  // namespace

std::string to_string(const PeerId& peer) {
  return to_string(peer.rank);
}

std::string to_string(const TransferId& id) {
  return "room " + to_string(id.room);
}

}  // namespace baton

std::size_t std::hash<baton::PeerId>::operator()(const baton::PeerId& peer) const noexcept {
  const auto rank = (static_cast<std::uint64_t>(peer.rank.role) << 32) | peer.rank.index;
  return baton::mix(baton::mix(0, peer.instance), rank);
}

std::size_t std::hash<baton::TransferId>::operator()(const baton::TransferId& id) const noexcept {
  return baton::mix(baton::mix(0, id.target), id.room.value);
}
