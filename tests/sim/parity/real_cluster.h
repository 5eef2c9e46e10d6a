// A planned cluster on threads: the server's node (LocalNode) with any engines, and the clients of a trace on its
// front, in real time. The real sibling of ClusterWorld.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "roles/local_node.h"
#include "roles/request_log_record.h"
#include "runtime/pulse.h"
#include "runtime/scope.h"
#include "sim/cluster/cluster_plan.h"
#include "sim/parity/gated_endpoint.h"
#include "sim/workload/request.h"

namespace baton::sim {

class RealCluster final {
 public:
  // The engines have the plan's layout and context length. Hand-overs are copies in memory, as in the server, which
  // wait at the gate if there is one. The gate outlives the cluster.
  RealCluster(const ClusterPlan& plan, std::function<std::unique_ptr<Engine>(RankId)> engine, Gate* writes = nullptr);
  ~RealCluster();  // finish() was called
  RealCluster(const RealCluster&) = delete;
  RealCluster& operator=(const RealCluster&) = delete;

  // Starts the threads of ranks and front. `on_record`, on the front's thread: a request has ended.
  void start(std::function<void(const RequestRecord&)> on_record);

  // From any one thread: the next request arrives now, or as soon as the front gets to it.
  void arrive(TraceRequest request);
  // All of these arrive, each in its time from now.
  void arrive_in_time(std::vector<TraceRequest> requests);

  // Waits until every request has ended, then ends node and threads. True: nothing is held any more.
  bool finish();

  std::vector<RealContext*> contexts();  // the front's and the ranks'
  Node& node() noexcept { return node_.node(); }

 private:
  Task<> live();
  Task<> rest();
  Task<> arrivals(std::vector<TraceRequest> requests);
  Task<> client(TraceRequest request);
  void begin(TraceRequest request);
  Prompt prompt_of(const TraceRequest& request) const;

  const ClusterPlan plan_;
  RealContext front_;
  MetricsRegistry metrics_;
  std::list<GatedEndpoint> endpoints_;
  std::uint32_t vocab_ = 1;
  LocalNode node_;
  std::function<void(const RequestRecord&)> on_record_;
  Pulse changed_;
  Scope life_;
  Scope clients_;
  std::uint64_t started_ = 0;
  bool all_sent_ = false;
  TimePoint epoch_{};
  std::thread thread_;
};

}  // namespace baton::sim
