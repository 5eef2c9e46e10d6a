#include "transport/faulty/fault_plan.h"

#include <array>
#include <utility>

namespace baton {

Fault ScriptedFaults::next(const FaultPoint& point) {
  const auto found = script_.find(point.operation);
  return found == script_.end() ? Fault() : found->second;
}

Fault RandomFaults::next(const FaultPoint& point) {
  Fault fault;
  const double choice =
      random_.unit();  // always three draws, so that one operation's fate does not shift the next one's
  fault.delay = Duration(static_cast<Duration::rep>(random_.unit() * static_cast<double>(rates_.delay_max.count())));
  fault.fraction = random_.unit();
  const std::array<std::pair<double, FaultKind>, 6> kinds{{{rates_.delay, FaultKind::delay},
                                                           {rates_.drop, FaultKind::drop},
                                                           {rates_.hold_back, FaultKind::hold_back},
                                                           {rates_.duplicate, FaultKind::duplicate},
                                                           {rates_.fail, FaultKind::fail},
                                                           {rates_.tear, FaultKind::tear}}};
  double edge = 0;
  for (const auto& [rate, kind] : kinds) {
    edge += rate;
    if (choice < edge) {
      fault.kind = kind;
      break;
    }
  }
  const bool loses = fault.kind == FaultKind::drop || fault.kind == FaultKind::fail || fault.kind == FaultKind::tear;
  if (loses && !point.is_write && point.notice == NoticeKind::closed && !rates_.lose_closed) {
    fault.kind = FaultKind::delay;
  }
  return fault;
}

}  // namespace baton
