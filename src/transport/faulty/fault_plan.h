// Which operation of a FaultyEndpoint goes wrong, and how. Plans are deterministic: a script, or a seed.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "runtime/random.h"
#include "runtime/time.h"
#include "transport/endpoint.h"

namespace baton {

enum class FaultKind : std::uint8_t {
  none,
  delay,      // the operation takes place later, by `delay`; others may overtake it
  drop,       // a write: applied and reported as done, but its notice never arrives; a notice: never arrives
  hold_back,  // a notice: delivered after the one that follows it, at the latest after `delay`; a write: as delay
  duplicate,  // a write: applied twice, its notice posted twice; a notice: delivered at once and again after `delay`
  fail,       // a write: after `delay` transfer_failed, no byte applied; a notice: as drop
  tear,       // a write: the first `fraction` of its bytes applied, then transfer_failed; a record: cut off; else drop
};

struct Fault {
  FaultKind kind = FaultKind::none;
  Duration delay{};
  double fraction = 0.5;
};

// What the plan is asked about. Operations are counted from zero, per endpoint, in the order they begin; a write and
// the notice that follows from it are two operations.
struct FaultPoint {
  std::uint64_t operation = 0;
  bool is_write = false;
  NoticeKind notice = NoticeKind::written;  // of a notice, or the one a write carries
  TransferId id;                            // the room; none for a write that carries no notice
  PeerId to;                                // where it goes
};

class FaultPlan {
 public:
  virtual ~FaultPlan() = default;
  virtual Fault next(const FaultPoint& point) = 0;
};

// The n-th operation gets the n-th entry, if there is one.
class ScriptedFaults final : public FaultPlan {
 public:
  explicit ScriptedFaults(std::map<std::uint64_t, Fault> script) : script_(std::move(script)) {}
  Fault next(const FaultPoint& point) override;

 private:
  std::map<std::uint64_t, Fault> script_;
};

// Probabilities, each in [0, 1]; what is left over is no fault. Delays are uniform in [0, delay_max].
struct FaultRates {
  double delay = 0;
  double drop = 0;
  double hold_back = 0;
  double duplicate = 0;
  double fail = 0;
  double tear = 0;
  Duration delay_max = std::chrono::milliseconds(10);
  // Whether `closed` may be lost too: pages then wait in quarantine until the receiver has asked again.
  bool lose_closed = false;
};

class RandomFaults final : public FaultPlan {
 public:
  RandomFaults(std::uint64_t seed, const FaultRates& rates) : random_(seed), rates_(rates) {}
  Fault next(const FaultPoint& point) override;

 private:
  Random random_;
  FaultRates rates_;
};

}  // namespace baton
