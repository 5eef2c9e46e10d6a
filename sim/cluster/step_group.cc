#include "sim/cluster/step_group.h"

#include <algorithm>
#include <utility>

#include "runtime/check.h"
#include "runtime/sleep.h"

namespace baton::sim {
namespace {

// Members that end a step form their next batch in the same instant: the group waits for all of them.
constexpr unsigned kAfterMembers = 1000;

}  // namespace

StepGroup::StepGroup(Context& context, const CostModel& model, std::uint32_t members)
    : context_(context), model_(model), loads_(members), wanted_(context, "group") {
  for (std::uint32_t i = 0; i < members; ++i) {
    members_.push_back(std::make_unique<Member>(context));
  }
}

bool StepGroup::anyone_waits() const noexcept {
  return std::ranges::any_of(members_, [](const auto& member) { return member->waiting; });
}

Task<> StepGroup::run() {
  for (;;) {
    co_await sleep_until(context_, context_.now(), kAfterMembers);
    if (!anyone_waits()) {
      co_await wanted_.wait();
      continue;
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& member = *members_[i];
      member.in_step = std::exchange(member.waiting, false);
      loads_[i] = member.in_step ? member.load : StepLoad();
    }
    const StepCost cost = model_.group_cost(loads_);
    co_await sleep_until(context_, context_.now() + cost.total, kStepPriority);
    for (const auto& member : members_) {
      if (std::exchange(member->in_step, false)) {
        member->cost = cost;
        member->done.notify();
      }
    }
  }
}

Task<StepCost> StepGroup::step(std::uint32_t member, const StepLoad& load) {
  Member& self = *members_.at(member);
  BATON_CHECK(!self.waiting && !self.in_step, member);
  self.load = load;
  self.waiting = true;
  wanted_.notify();
  co_await self.done.wait();
  co_return self.cost;
}

Task<StepOutput> GroupEngine::step(StepBatch batch) {
  const StepLoad load = load_of(batch, config_.speculation.drafts);
  account_.in_step = static_cast<std::uint32_t>(batch.sequences.size());
  const StepCost cost = co_await group_.step(member_, load);
  account_.in_step = 0;
  account_.add(load, cost);
  const TimePoint end = group_.now();
  tell(config_, end - cost.total, end, load.tokens());
  co_return sampled_where_asked(batch, config_.speculation);
}

}  // namespace baton::sim
