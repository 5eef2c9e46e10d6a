// The control link of one rank or router of a world under exploration: its messages travel over the Network, and the
// ledger hears of those that say who may write where.
#pragma once

#include "roles/control_link.h"
#include "sim/chaos/afterthought.h"
#include "sim/chaos/ledger.h"
#include "sim/chaos/network.h"

namespace baton::chaos {

class ChaosLink final : public ControlLink {
 public:
  // All outlive this. inner delivers at once and outlives every message.
  ChaosLink(RankId self, ControlLink& inner, Network& network, Ledger& ledger, Chronicle& chronicle, Arrivals& arrivals)
      : self_(self), inner_(inner), network_(network), ledger_(ledger), chronicle_(chronicle), arrivals_(arrivals) {}

  void post(RankId to, RankMessage message) override;
  void post_router(RankId router, RouterMessage message) override;

 private:
  void deliver(RankId to, RankMessage message);
  void look_at(const RankMessage& message);
  void look_at(const RouterMessage& message);

  RankId self_;
  ControlLink& inner_;
  Network& network_;
  Ledger& ledger_;
  Chronicle& chronicle_;
  Arrivals& arrivals_;
};

}  // namespace baton::chaos
