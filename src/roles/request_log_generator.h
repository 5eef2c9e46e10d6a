// LoggedGenerator: a Generator that writes a line to the request log for every generation that has ended, by its
// FinishEvent or because the front end let go of it.
//
//   front end --> LoggedGenerator --> router
//                       '--> RequestLog
//
// On the front's context. Times are those at which the front end took the events, arrivals count from the making of
// this object.
#pragma once

#include <memory>

#include "roles/generation.h"
#include "roles/request_log.h"
#include "runtime/context.h"

namespace baton {

class LoggedGenerator final : public Generator {
 public:
  // All references outlive this and its generations.
  LoggedGenerator(Context& context, Generator& inner, RequestLog& log);

  std::unique_ptr<Generation> start(GenerationRequest request) override;
  ServiceState state() const noexcept override { return inner_.state(); }
  std::uint32_t max_context() const noexcept override { return inner_.max_context(); }

 private:
  Context& context_;
  Generator& inner_;
  RequestLog& log_;
  TimePoint epoch_;
};

}  // namespace baton
