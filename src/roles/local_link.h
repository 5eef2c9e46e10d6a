// The control link of one process: every message goes straight into the inbox of its rank.
//
// Ranks and the router are attached while the node is built; afterwards the table only is read, from any context.
#pragma once

#include <map>

#include "roles/control_link.h"
#include "runtime/mailbox.h"

namespace baton {

class LocalLink final : public ControlLink {
 public:
  // Before anything runs.
  void attach(RankId rank, Mailbox<RankMessage>::Sender inbox) { ranks_[rank] = std::move(inbox); }
  void attach_router(Mailbox<RouterMessage>::Sender inbox) { router_ = std::move(inbox); }

  void post(RankId to, RankMessage message) override;
  void post_router(RouterMessage message) override { router_.push(std::move(message)); }

 private:
  std::map<RankId, Mailbox<RankMessage>::Sender> ranks_;
  Mailbox<RouterMessage>::Sender router_;
};

}  // namespace baton
