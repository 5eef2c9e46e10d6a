// FluidEndpoint: a rank's endpoint in a simulated cluster. Writes take the time that their bytes need on the network
// and copy nothing; notices and everything else pass through to the endpoint it decorates.
//
//   EndpointSender --write--> FluidEndpoint --flow over the path--> inner endpoint: notice
//
// When its bytes are there a write is handed to the inner endpoint without any, which checks once more that the target
// is there and has not shut the writer out, and delivers the notice: the promises of transport/endpoint.h are kept. To
// be put in by NodeWorld::decorate, with NodeConfig::copying.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "runtime/context.h"
#include "sim/network/fluid_transfers.h"
#include "sim/network/topology.h"
#include "transport/endpoint.h"

namespace baton::sim {

struct WriteRules {
  // What one page weighs on the network, in bytes; 0: what it takes in the arenas. A world whose arenas hold less than
  // the modelled cluster's do says so here.
  double page_bytes = 0.0;

  // How long the step that made these pages computed. Set: each layer's part sets out as soon as that layer has been
  // computed (layer-wise streaming). Empty: all of them when the step has ended.
  std::function<Duration(const KvWrite&)> computing = {};
  std::uint32_t layers = 1;  // of the model; used with `computing`
};

// One write from its posting to its arrival, for whoever keeps a history.
struct WriteSpan {
  RankId from;
  RankId to;
  RoomId room;  // zero where the write has no notice
  TimePoint began{};
  TimePoint ended{};
  double bytes = 0.0;
  double bytes_ahead = 0.0;  // of them, gone while the step computed
  bool arrived = false;
};

// Bytes that layer-wise streaming had brought over when a write of `bytes` is posted. While the last (L-1)/L of the
// step computed, at most (L-1)/L of the bytes could go. An approximation: the flow did not exist then, so it is taken
// to have had the rate that it gets now, and others did not feel it; a share that changed meanwhile is off by that.
double streamed_ahead(double bytes, double rate, Duration computing, std::uint32_t layers) noexcept;

class FluidEndpoint;

// All endpoints of one world, and the writes that are under way between them.
class FluidWires final {
 public:
  // `ended` hears of every write that ends; may be empty. What is referred to outlives the wires, and these the node.
  FluidWires(FluidTransfers& transfers, const Topology& topology, WriteRules rules = {},
             std::function<void(const WriteSpan&)> ended = {});
  ~FluidWires();

  // For NodeWorld::decorate: the endpoint that the rank is to use, until it is built anew.
  Endpoint& decorate(Context& context, Endpoint& inner);

  // The peer has died, or is cut off: writes from it and to it end now, with peer_lost. Without this word they go on
  // until their bytes are through, and fail then.
  void lose(const PeerId& peer) noexcept;

  std::uint64_t writes() const noexcept { return writes_; }     // posted
  double bytes() const noexcept { return bytes_; }              // of those that arrived
  double bytes_ahead() const noexcept { return bytes_ahead_; }  // of these, gone while steps computed

 private:
  friend class FluidEndpoint;

  struct UnderWay {
    PeerId writer;
    PeerId target;
    Transfer* transfer;
  };

  void fence(const PeerId& target, const PeerId& writer) noexcept;
  double bytes_of(const KvWrite& write) const noexcept;
  Load load_of(RankId from, const KvWrite& write) const;
  void count(const WriteSpan& span);

  FluidTransfers& transfers_;
  const Topology& topology_;
  WriteRules rules_;
  std::function<void(const WriteSpan&)> ended_;
  std::list<UnderWay> under_way_;
  std::map<RankId, std::unique_ptr<FluidEndpoint>> endpoints_;
  std::uint64_t writes_ = 0;
  double bytes_ = 0.0;
  double bytes_ahead_ = 0.0;
};

class FluidEndpoint final : public Endpoint {
 public:
  // inner lives at least as long as the rank uses this.
  FluidEndpoint(Context& context, Endpoint& inner, FluidWires& wires);

  const PeerId& self() const noexcept override { return self_; }
  std::uint64_t memory_key() const noexcept override { return inner_.memory_key(); }
  std::byte* direct_arena(const Landing& landing) noexcept override { return inner_.direct_arena(landing); }
  std::optional<Failure> check(const Landing& landing) override { return inner_.check(landing); }
  Task<Result<>> write(KvWrite write) override;
  void fence(const PeerId& peer) noexcept override;
  void post(const PeerId& to, Notice notice) noexcept override { inner_.post(to, std::move(notice)); }
  Task<std::optional<Notice>> next() override { return inner_.next(); }

 private:
  class Registered;

  Task<Result<>> deliver(KvWrite write);

  Context& context_;
  Endpoint& inner_;
  FluidWires& wires_;
  PeerId self_;
};

}  // namespace baton::sim
