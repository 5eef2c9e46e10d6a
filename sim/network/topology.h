// Topology: which links a transfer between two ranks crosses, and what it takes before its bytes flow.
//
//   rank --nic out--> [spine up of its group --> spine down of the other's] --nic in--> rank
//   rank --nvlink out--> nvlink in--> rank                                     within one node
//
// A rank of TP size t stands on t GPUs with ports of their own. These are one link of their speed together, and a
// hand-over is one flow over it: between a TP-a and a TP-b rank it travels as max(a, b) pieces, spread evenly, so that
// no port is busy while another of the same bundle idles. What that leaves out is a bundle that is used unevenly.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/ids.h"
#include "runtime/time.h"
#include "sim/network/fluid.h"

namespace baton::sim {

struct NetworkConfig {
  bool infinite = false;         // links carry any rate: a lower bound, where only latency and overhead are left
  double spine_bytes_per_s = 0;  // of one group, each direction; 0: the spine holds nobody up
  Duration latency{0};           // of a write, before its first byte moves
  Duration per_message{0};       // overhead of one message at one port; those of a port follow each other
};

// Where a rank stands, and the speed of all its ports together, each direction.
struct RankPlace {
  RankId rank;
  std::uint32_t node = 0;         // ranks of one node share NVLink
  std::uint32_t group = 0;        // of the spine: leaf, rail or pod
  std::uint32_t tp = 1;           // GPUs that each hold a part of the keys and values
  double nic_bytes_per_s = 0;     // above zero, unless the network is infinite
  double nvlink_bytes_per_s = 0;  // to ranks of its node; 0: it talks to them over its NICs
};

class Topology final {
 public:
  // Adds the links to the network. Throws Error(invalid_argument) naming the field or the rank: speeds below zero or
  // not finite, no NIC speed, negative times, a rank twice, a TP size of zero.
  Topology(FluidNetwork& network, const NetworkConfig& config, const std::vector<RankPlace>& places);

  // Both ranks have a place; a rank does not send to itself.
  Path path(RankId from, RankId to) const;

  // Latency and overhead of a write of `runs` contiguous runs of pages; every run is a message to each piece.
  Duration setup(RankId from, RankId to, std::size_t runs) const;

  // Pieces of a hand-over between ranks of these TP sizes, and how many of them the busiest port carries.
  static std::uint32_t pieces(std::uint32_t from_tp, std::uint32_t to_tp) noexcept;
  static std::uint32_t pieces_per_port(std::uint32_t from_tp, std::uint32_t to_tp) noexcept;

 private:
  struct Ports {
    LinkIndex out = 0;
    LinkIndex in = 0;
  };

  struct Place {
    RankPlace place;
    Ports nic;
    Ports nvlink;
  };

  const Place& at(RankId rank) const;
  static bool by_nvlink(const Place& from, const Place& to) noexcept;
  static Ports add_ports(FluidNetwork& network, const std::string& name, double bytes_per_s);
  void add_spines(FluidNetwork& network);

  NetworkConfig config_;
  std::map<RankId, Place> places_;
  std::map<std::uint32_t, Ports> spines_;  // of groups whose ranks can fill them
};

}  // namespace baton::sim
