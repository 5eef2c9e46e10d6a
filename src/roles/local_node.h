// The node of one process in real time: every rank on a thread and context of its own, the router on the front's.
//
//   front thread: HttpServer, Router        rank threads: prefill/0, decode/0, ...        ComputePool: the steps
//
// Owned by main (or a test) on the front's thread. Rank threads mostly sleep: the compute pool does the work, so more
// ranks than cores do no harm.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "roles/node.h"
#include "runtime/real_context.h"

namespace baton {

class LocalNode final {
 public:
  // `engine` makes the engine of one rank; it is called once a rank. `decorate` as in NodeWorld. Throws as Node does.
  LocalNode(RealContext& front, std::function<std::unique_ptr<Engine>(RankId)> engine, NodeConfig config,
            TextRules rules, MetricsRegistry& metrics, std::function<Endpoint&(Context&, Endpoint&)> decorate = {});
  ~LocalNode();  // stop() and join() have been called, or start() never was
  LocalNode(const LocalNode&) = delete;
  LocalNode& operator=(const LocalNode&) = delete;

  Node& node() noexcept { return *node_; }
  Router& router() noexcept { return node_->router(); }
  RealContext& context(RankId rank);  // the rank's, for whoever watches it

  // Starts the rank threads and opens the router for work. `on_fault` is called on a rank's thread when that rank ended
  // by a fault of baton's; the process should end then, since requests on that rank hang until their deadlines.
  void start(std::function<void(std::exception_ptr)> on_fault);

  // Any thread: open requests fail, ranks empty their pools and end.
  void stop() { node_->stop_ranks(); }

  // Waits for the rank threads. Not on a context's thread that ranks still need: call it after the front's run().
  void join();

 private:
  struct Rank;

  std::map<RankId, std::unique_ptr<Rank>> ranks_;
  std::unique_ptr<Node> node_;
};

}  // namespace baton
