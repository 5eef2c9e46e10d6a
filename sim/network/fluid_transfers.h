// Transfers over a FluidNetwork in a simulated world: coroutines that wait until their bytes have arrived.
//
//   transfer() --setup--> flow in the FluidNetwork --end--> the coroutine goes on
//                 one timer, of the next flow to end: run()
//
// Latency and the overhead of messages come first and occupy no link; then the bytes flow. All contexts of the world
// share one SimClock and one thread. The network and this object outlive all coroutines that use them.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/pulse.h"
#include "runtime/task.h"
#include "sim/network/fluid.h"

namespace baton::sim {

// What is to be moved, and how.
struct Load {
  Path path;
  double bytes = 0.0;
  Duration setup{0};  // before the first byte moves

  // Bytes that had gone over before, given the rate (bytes/s) that the flow gets at its start; at most `bytes` count.
  // Empty: none. Not asked where the path is empty.
  std::function<double(double rate)> ahead = {};

  Load() = default;
  Load(const Path& path_in, double bytes_in, Duration setup_in) : path(path_in), bytes(bytes_in), setup(setup_in) {}
};

class FluidTransfers;

// One transfer, in the frame of the coroutine that waits for it. Destroying it takes its flow off the network.
class Transfer final {
 public:
  Transfer(FluidTransfers& transfers, Context& context);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();

  // Completes when the last byte has arrived. Fails with what fail() said, and with Errc::aborted when cancelled (the
  // next await throws then); no byte moves any more in either case. Called once.
  Task<Result<>> run(Load load);

  // Ends the transfer now, with this error; its share of the links is free at once. Nothing happens after its end.
  void fail(Errc why) noexcept;

  double bytes_ahead() const noexcept { return ahead_; }  // what Load::ahead has taken off

 private:
  friend class FluidTransfers;

  bool over() const noexcept { return arrived_ || failed_; }
  Task<bool> wait_setup(Duration setup);
  void leave_network() noexcept;
  void arrived() noexcept;

  FluidTransfers& transfers_;
  Context& context_;
  Pulse changed_;
  std::optional<FlowId> flow_;
  std::optional<Errc> failed_;
  double ahead_ = 0.0;
  bool arrived_ = false;
};

class FluidTransfers final {
 public:
  // context: where run() lives.
  FluidTransfers(Context& context, FluidNetwork& network);

  // Watches the network. Spawned once; runs until cancelled. Without it nothing arrives.
  Task<> run();

  // A Transfer for those who need no hold on it: completes and fails as Transfer::run does. `context` is the caller's.
  Task<Result<>> transfer(Context& context, Load load);

  const FluidNetwork& network() const noexcept { return network_; }

 private:
  friend class Transfer;

  void hand_out_ends();

  Context& context_;
  FluidNetwork& network_;
  Pulse changed_;
  std::vector<Transfer*> waiting_;  // by slot of the flow
};

}  // namespace baton::sim
