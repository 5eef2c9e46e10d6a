#include "roles/local_link.h"

#include <utility>

namespace baton {

void LocalLink::post(RankId to, RankMessage message) {
  if (const auto found = ranks_.find(to); found != ranks_.end()) {
    found->second.push(std::move(message));
  }
}

void LocalLink::post_router(RankId router, RouterMessage message) {
  if (const auto found = routers_.find(router); found != routers_.end()) {
    found->second.push(std::move(message));
  }
}

}  // namespace baton
