#include "sim/network/topology.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/errors.h"

namespace baton::sim {
namespace {

void demand(bool good, const std::string& message) {
  if (!good) {
    throw Error(Errc::invalid_argument, message);
  }
}

void check_speed(const std::string& what, double bytes_per_s) {
  demand(std::isfinite(bytes_per_s) && bytes_per_s >= 0.0,
         fmt::format("network: {} is {}, not a speed", what, bytes_per_s));
}

void check_time(const char* field, Duration duration) {
  demand(duration >= Duration::zero(), fmt::format("network: {} is {} ns, below zero", field, duration.count()));
}

void check(const NetworkConfig& config) {
  check_speed("spine_bytes_per_s", config.spine_bytes_per_s);
  check_time("latency", config.latency);
  check_time("per_message", config.per_message);
}

void check(const RankPlace& place, bool infinite) {
  const std::string name = to_string(place.rank);
  demand(place.tp > 0, fmt::format("network: {} has a TP size of 0", name));
  check_speed("nic_bytes_per_s of " + name, place.nic_bytes_per_s);
  check_speed("nvlink_bytes_per_s of " + name, place.nvlink_bytes_per_s);
  demand(infinite || place.nic_bytes_per_s > 0.0,
         fmt::format("network: nic_bytes_per_s of {} is 0: it could hand nothing over", name));
}

}  // namespace

Topology::Topology(FluidNetwork& network, const NetworkConfig& config, const std::vector<RankPlace>& places)
    : config_(config) {
  check(config_);
  for (const RankPlace& place : places) {
    check(place, config_.infinite);
    const std::string name = to_string(place.rank);
    Place entry;
    entry.place = place;
    if (!config_.infinite) {
      entry.nic = add_ports(network, name + " nic", place.nic_bytes_per_s);
      if (place.nvlink_bytes_per_s > 0.0) {
        entry.nvlink = add_ports(network, name + " nvlink", place.nvlink_bytes_per_s);
      }
    }
    demand(places_.emplace(place.rank, entry).second, fmt::format("network: {} has two places", name));
  }
  if (!config_.infinite && config_.spine_bytes_per_s > 0.0) {
    add_spines(network);
  }
}

Topology::Ports Topology::add_ports(FluidNetwork& network, const std::string& name, double bytes_per_s) {
  Ports ports;
  ports.out = network.add_link(name + " out", bytes_per_s);
  ports.in = network.add_link(name + " in", bytes_per_s);
  return ports;
}

// A spine that carries all NICs of its group at once never fills and would only make searches longer.
void Topology::add_spines(FluidNetwork& network) {
  std::map<std::uint32_t, double> nics;
  for (const auto& [rank, place] : places_) {
    nics[place.place.group] += place.place.nic_bytes_per_s;
  }
  for (const auto& [group, speed] : nics) {
    if (config_.spine_bytes_per_s < speed) {
      spines_[group] = add_ports(network, fmt::format("spine/{}", group), config_.spine_bytes_per_s);
    }
  }
}

const Topology::Place& Topology::at(RankId rank) const {
  const auto found = places_.find(rank);
  BATON_CHECK(found != places_.end(), to_string(rank));
  return found->second;
}

bool Topology::by_nvlink(const Place& from, const Place& to) noexcept {
  return from.place.node == to.place.node && from.place.nvlink_bytes_per_s > 0.0 && to.place.nvlink_bytes_per_s > 0.0;
}

Path Topology::path(RankId from_rank, RankId to_rank) const {
  const Place& from = at(from_rank);
  const Place& to = at(to_rank);
  Path path;
  if (config_.infinite) {
    return path;
  }
  if (by_nvlink(from, to)) {
    path.add(from.nvlink.out);
    path.add(to.nvlink.in);
    return path;
  }
  path.add(from.nic.out);
  if (from.place.group != to.place.group) {
    if (const auto spine = spines_.find(from.place.group); spine != spines_.end()) {
      path.add(spine->second.out);
    }
    if (const auto spine = spines_.find(to.place.group); spine != spines_.end()) {
      path.add(spine->second.in);
    }
  }
  path.add(to.nic.in);
  return path;
}

Duration Topology::setup(RankId from_rank, RankId to_rank, std::size_t runs) const {
  const Place& from = at(from_rank);
  const Place& to = at(to_rank);
  const auto messages = static_cast<Duration::rep>(runs * pieces_per_port(from.place.tp, to.place.tp));
  return config_.latency + config_.per_message * messages;
}

std::uint32_t Topology::pieces(std::uint32_t from_tp, std::uint32_t to_tp) noexcept {
  return std::max(from_tp, to_tp);
}

std::uint32_t Topology::pieces_per_port(std::uint32_t from_tp, std::uint32_t to_tp) noexcept {
  const std::uint32_t ports = std::min(from_tp, to_tp);
  return (pieces(from_tp, to_tp) + ports - 1) / ports;
}

}  // namespace baton::sim
