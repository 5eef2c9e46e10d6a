#include "sim/network/fluid_transfers.h"

#include <algorithm>
#include <utility>

namespace baton::sim {

Transfer::Transfer(FluidTransfers& transfers, Context& context)
    : transfers_(transfers), context_(context), changed_(context, "transfer") {}

Transfer::~Transfer() {
  leave_network();
}

Task<Result<>> Transfer::run(Load load) {
  if (load.setup > Duration::zero() && !over()) {
    const bool waited = co_await wait_setup(load.setup);
    if (!waited) {
      co_return failed_.value_or(Errc::aborted);
    }
  }
  if (failed_) {
    co_return *failed_;
  }
  FluidNetwork& network = transfers_.network_;
  network.advance(context_.now());
  transfers_.hand_out_ends();  // before a slot is used again
  flow_ = network.start(load.path, load.bytes, context_.now());
  transfers_.waiting_.resize(std::max(transfers_.waiting_.size(), network.slots()));
  transfers_.waiting_[flow_->slot] = this;
  if (load.ahead && !load.path.empty()) {
    ahead_ = std::clamp(load.ahead(network.rate(*flow_)), 0.0, load.bytes);
    network.shorten(*flow_, ahead_, context_.now());
  }
  transfers_.changed_.notify();
  while (!over()) {
    const bool notified = co_await changed_.wait();
    if (!notified) {
      failed_ = Errc::aborted;
    }
  }
  leave_network();
  co_return failed_ ? Result<>(*failed_) : Result<>();
}

// False: failed or cancelled before the time has come.
Task<bool> Transfer::wait_setup(Duration setup) {
  const TimePoint ready = add_saturating(context_.now(), setup);
  co_await changed_.wait_until(ready);
  co_return !failed_ && context_.now() >= ready;
}

void Transfer::fail(Errc why) noexcept {
  if (!over()) {
    failed_ = why;
    leave_network();
    changed_.notify();
  }
}

void Transfer::arrived() noexcept {
  flow_.reset();
  arrived_ = true;
  changed_.notify();
}

void Transfer::leave_network() noexcept {
  if (!flow_) {
    return;
  }
  const FlowId flow = *std::exchange(flow_, std::nullopt);
  transfers_.waiting_[flow.slot] = nullptr;
  if (transfers_.network_.alive(flow)) {
    transfers_.network_.cancel(flow, context_.now());
    transfers_.changed_.notify();
  }
}

FluidTransfers::FluidTransfers(Context& context, FluidNetwork& network)
    : context_(context), network_(network), changed_(context, "flows") {}

Task<> FluidTransfers::run() {
  for (;;) {
    network_.advance(context_.now());
    hand_out_ends();
    const TimePoint next = network_.next_end();
    co_await changed_.wait_until(next);
  }
}

// A flow whose transfer has left in the instant of its end meets nobody.
void FluidTransfers::hand_out_ends() {
  for (const FlowId flow : network_.ended()) {
    Transfer* transfer = waiting_[flow.slot];
    if (transfer != nullptr && transfer->flow_ == flow) {
      waiting_[flow.slot] = nullptr;
      transfer->arrived();
    }
  }
  network_.clear_ended();
}

Task<Result<>> FluidTransfers::transfer(Context& context, Load load) {
  Transfer transfer(*this, context);
  co_return co_await transfer.run(std::move(load));
}

}  // namespace baton::sim
