#include "roles/peer_watch.h"

#include <utility>

#include "runtime/mutants.h"
#include "runtime/sleep.h"

namespace baton {

PeerWatch::PeerWatch(Context& context, PeerId self, ControlLink& link, PeerWatchConfig config)
    : context_(context), self_(self), link_(link), config_(std::move(config)) {}

Task<> PeerWatch::beat() {
  while (config_.liveness.period > Duration::zero()) {
    for (std::uint32_t i = 0; i < config_.routers; ++i) {
      link_.post_router({Role::router, i}, Heartbeat(self_));
    }
    if (!co_await pause(context_, config_.liveness.period)) {
      co_return;
    }
  }
}

std::vector<PeerId> PeerWatch::learn(const PeersGone& gone) {
  std::vector<PeerId> news;
  for (const PeerId& peer : gone.peers) {
    if (!gone_.add(peer)) {
      continue;
    }
    if (peer != self_) {
      news.push_back(peer);
    } else if (config_.expelled && !mutant(Mutant::rank_ignores_its_end)) {
      config_.expelled(self_.rank);
    }
  }
  return news;
}

}  // namespace baton
