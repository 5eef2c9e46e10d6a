// How a rank or a router says something to another one, wherever that is.
//
// Posting never waits and never throws for a peer's state: a message to a peer that is gone is dropped, and deadlines
// end what waits for the answer. Messages between the same two arrive in the order they were posted, unless the link
// is a faulty one under test.
#pragma once

#include "roles/messages.h"
#include "runtime/ids.h"

namespace baton {

class ControlLink {
 public:
  virtual ~ControlLink() = default;

  // May be called on any context.
  virtual void post(RankId to, RankMessage message) = 0;
  virtual void post_router(RankId router, RouterMessage message) = 0;
};

}  // namespace baton
