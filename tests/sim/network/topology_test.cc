// Which links a transfer crosses, and what bad networks are told.
#include "sim/network/topology.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/errors.h"

using namespace baton;
using namespace baton::sim;

namespace {

constexpr RankId kPrefill{Role::prefill, 0};
constexpr RankId kNeighbour{Role::decode, 0};
constexpr RankId kFar{Role::decode, 1};

std::vector<RankPlace> places() {
  return {{kPrefill, 0, 0, 4, 200e9, 1800e9}, {kNeighbour, 0, 0, 8, 400e9, 3600e9}, {kFar, 1, 1, 2, 100e9, 0}};
}

std::vector<std::string> names(const FluidNetwork& network, const Path& path) {
  std::vector<std::string> all;
  for (const LinkIndex link : path.links()) {
    all.push_back(network.link_name(link));
  }
  return all;
}

std::string error_of(const NetworkConfig& config, const std::vector<RankPlace>& ranks) {
  FluidNetwork network;
  try {
    const Topology topology(network, config, ranks);
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_argument);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Topology: ranks of one node meet over NVLink, others over NICs and the spine of both groups") {
  NetworkConfig config;
  config.spine_bytes_per_s = 90e9;
  FluidNetwork network;
  const Topology topology(network, config, places());
  CHECK(names(network, topology.path(kPrefill, kNeighbour)) ==
        std::vector<std::string>{"prefill/0 nvlink out", "decode/0 nvlink in"});
  CHECK(names(network, topology.path(kPrefill, kFar)) ==
        std::vector<std::string>{"prefill/0 nic out", "spine/0 out", "spine/1 in", "decode/1 nic in"});
  CHECK(network.capacity(topology.path(kPrefill, kFar).links()[0]) == 200e9);
  CHECK(network.capacity(topology.path(kPrefill, kFar).links()[3]) == 100e9);
}

TEST_CASE("Topology: both directions of a port are links of their own, and a spine that nobody can fill is none") {
  NetworkConfig config;
  config.spine_bytes_per_s = 600e9;  // the NICs of group 0 carry as much
  FluidNetwork network;
  const Topology topology(network, config, places());
  const Path there = topology.path(kPrefill, kFar);
  const Path back = topology.path(kFar, kPrefill);
  CHECK(names(network, there) == std::vector<std::string>{"prefill/0 nic out", "decode/1 nic in"});
  CHECK(names(network, back) == std::vector<std::string>{"decode/1 nic out", "prefill/0 nic in"});
}

TEST_CASE("Topology: in infinite mode only latency and overhead are left") {
  NetworkConfig config;
  config.infinite = true;
  config.latency = std::chrono::microseconds(5);
  config.per_message = std::chrono::microseconds(1);
  FluidNetwork network;
  const Topology topology(network, config, places());
  CHECK(topology.path(kPrefill, kFar).empty());
  CHECK(network.links() == 0);
  CHECK(topology.setup(kPrefill, kFar, 3) == std::chrono::microseconds(5 + 2 * 3));
}

TEST_CASE("Topology: a hand-over between unequal TP sizes is max(a, b) pieces, spread over the fewer ports") {
  CHECK(Topology::pieces(4, 8) == 8);
  CHECK(Topology::pieces_per_port(4, 8) == 2);
  CHECK(Topology::pieces_per_port(8, 2) == 4);
  CHECK(Topology::pieces_per_port(3, 4) == 2);
  CHECK(Topology::pieces_per_port(1, 1) == 1);
}

TEST_CASE("Topology: a bad network is refused by the name of what is wrong") {
  NetworkConfig config;
  config.spine_bytes_per_s = -1;
  CHECK(error_of(config, places()).find("spine_bytes_per_s is -1") != std::string::npos);
  config = {};
  config.per_message = Duration(-4);
  CHECK(error_of(config, places()).find("per_message is -4") != std::string::npos);
  CHECK(error_of({}, {{kFar, 0, 0, 1, 0}}).find("nic_bytes_per_s of decode/1 is 0") != std::string::npos);
  CHECK(error_of({}, {{kFar, 0, 0, 1, 1, -2}}).find("nvlink_bytes_per_s of decode/1 is -2") != std::string::npos);
  CHECK(error_of({}, {{kFar, 0, 0, 0, 1}}).find("decode/1 has a TP size of 0") != std::string::npos);
  CHECK(error_of({}, {{kFar, 0, 0, 1, 1}, {kFar, 1, 0, 1, 1}}).find("decode/1 has two places") != std::string::npos);
}
