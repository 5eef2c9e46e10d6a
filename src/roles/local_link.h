// The control link of one process: every message goes straight into the inbox of its rank.
//
// Ranks and routers are attached while the node is built; afterwards the table only is read, from any context. Only in
// a world of one thread ranks may be attached anew and taken off while it runs.
#pragma once

#include <map>
#include <utility>

#include "roles/control_link.h"
#include "runtime/mailbox.h"

namespace baton {

class LocalLink final : public ControlLink {
 public:
  void attach(RankId rank, Mailbox<RankMessage>::Sender inbox) { ranks_[rank] = std::move(inbox); }
  void attach_router(RankId router, Mailbox<RouterMessage>::Sender inbox) { routers_[router] = std::move(inbox); }
  void detach(RankId rank) { ranks_.erase(rank); }

  void post(RankId to, RankMessage message) override;
  void post_router(RankId router, RouterMessage message) override;

 private:
  std::map<RankId, Mailbox<RankMessage>::Sender> ranks_;
  std::map<RankId, Mailbox<RouterMessage>::Sender> routers_;
};

}  // namespace baton
