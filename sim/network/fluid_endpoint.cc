#include "sim/network/fluid_endpoint.h"

#include <algorithm>
#include <utility>

#include "runtime/check.h"

namespace baton::sim {
namespace {

double pages_of(const KvWrite& write) noexcept {
  double pages = 0.0;
  for (const PageRun& run : write.runs) {
    pages += run.pages;
  }
  return pages;
}

}  // namespace

double streamed_ahead(double bytes, double rate, Duration computing, std::uint32_t layers) noexcept {
  const double part = layers > 1 ? static_cast<double>(layers - 1) / layers : 0.0;
  return std::min(bytes, rate * seconds(computing)) * part;
}

// A write's place in the list, for as long as its frame lives.
class FluidEndpoint::Registered final {
 public:
  Registered(FluidWires& wires, const PeerId& writer, const PeerId& target, Transfer& transfer)
      : wires_(wires),
        place_(wires.under_way_.insert(wires.under_way_.end(), FluidWires::UnderWay{writer, target, &transfer})) {}
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() { wires_.under_way_.erase(place_); }

 private:
  FluidWires& wires_;
  std::list<FluidWires::UnderWay>::iterator place_;
};

FluidWires::FluidWires(FluidTransfers& transfers, const Topology& topology, WriteRules rules,
                       std::function<void(const WriteSpan&)> ended)
    : transfers_(transfers), topology_(topology), rules_(std::move(rules)), ended_(std::move(ended)) {
  BATON_CHECK(rules_.layers > 0);
}

FluidWires::~FluidWires() {
  BATON_CHECK(under_way_.empty(), under_way_.size());
}

Endpoint& FluidWires::decorate(Context& context, Endpoint& inner) {
  auto& endpoint = endpoints_[inner.self().rank];
  endpoint = std::make_unique<FluidEndpoint>(context, inner, *this);
  return *endpoint;
}

void FluidWires::lose(const PeerId& peer) noexcept {
  for (const UnderWay& write : under_way_) {
    if (write.writer == peer || write.target == peer) {
      write.transfer->fail(Errc::peer_lost);
    }
  }
}

void FluidWires::fence(const PeerId& target, const PeerId& writer) noexcept {
  for (const UnderWay& write : under_way_) {
    if (write.writer == writer && write.target == target) {
      write.transfer->fail(Errc::peer_lost);
    }
  }
}

double FluidWires::bytes_of(const KvWrite& write) const noexcept {
  return pages_of(write) * (rules_.page_bytes > 0.0 ? rules_.page_bytes : static_cast<double>(write.page_bytes));
}

Load FluidWires::load_of(RankId from, const KvWrite& write) const {
  const RankId to = write.target.rank;
  Load load(topology_.path(from, to), bytes_of(write), topology_.setup(from, to, write.runs.size()));
  if (rules_.computing) {
    load.ahead = [bytes = load.bytes, computing = rules_.computing(write), layers = rules_.layers](double rate) {
      return streamed_ahead(bytes, rate, computing, layers);
    };
  }
  return load;
}

void FluidWires::count(const WriteSpan& span) {
  if (span.arrived) {
    bytes_ += span.bytes;
    bytes_ahead_ += span.bytes_ahead;
  }
  if (ended_) {
    ended_(span);
  }
}

FluidEndpoint::FluidEndpoint(Context& context, Endpoint& inner, FluidWires& wires)
    : context_(context), inner_(inner), wires_(wires), self_(inner.self()) {}

Task<Result<>> FluidEndpoint::write(KvWrite write) {
  ++wires_.writes_;
  WriteSpan span;
  span.from = self_.rank;
  span.to = write.target.rank;
  span.room = write.notice ? write.notice->id.room : RoomId();
  span.began = context_.now();
  span.bytes = wires_.bytes_of(write);
  Transfer transfer(wires_.transfers_, context_);
  const Registered registered(wires_, self_, write.target, transfer);
  Load load = wires_.load_of(self_.rank, write);
  Result<> moved = co_await transfer.run(std::move(load));
  if (moved) {
    moved = co_await deliver(std::move(write));
  }
  span.bytes_ahead = transfer.bytes_ahead();
  span.ended = context_.now();
  span.arrived = moved.has_value();
  wires_.count(span);
  co_return moved;
}

// The same write with nothing to copy.
Task<Result<>> FluidEndpoint::deliver(KvWrite write) {
  write.runs.clear();
  co_return co_await inner_.write(std::move(write));
}

void FluidEndpoint::fence(const PeerId& peer) noexcept {
  wires_.fence(self_, peer);
  inner_.fence(peer);
}

}  // namespace baton::sim
