#include "sim/cost/grid.h"

#include <algorithm>

#include "runtime/check.h"

namespace baton::sim {
namespace {

// Where a coordinate lies between two values of an axis, as a fraction that exceeds 1 beyond the end.
struct Bracket {
  std::size_t low = 0;
  std::size_t high = 0;
  double t = 0;
  bool outside = false;
};

template <class Node>
Bracket bracket(std::span<const Node> axis, double key) {
  if (axis.size() == 1 || key <= axis.front().key) {
    return {0, 0, 0, axis.size() > 1 && key < axis.front().key};
  }
  const auto above = std::ranges::upper_bound(axis, key, {}, &Node::key);
  const auto high = std::min(static_cast<std::size_t>(above - axis.begin()), axis.size() - 1);
  const double step = axis[high].key - axis[high - 1].key;
  return {high - 1, high, (key - axis[high - 1].key) / step, key > axis.back().key};
}

bool same_up_to(const Grid::Sample& a, const Grid::Sample& b, std::size_t axis) {
  return std::equal(a.at.begin(), a.at.begin() + static_cast<std::ptrdiff_t>(axis) + 1, b.at.begin());
}

}  // namespace

Grid::Grid(std::vector<Sample> samples, std::size_t axes) {
  BATON_CHECK(axes >= 1 && axes <= kAxesMax, axes);
  for (Sample& sample : samples) {
    std::fill(sample.at.begin() + static_cast<std::ptrdiff_t>(axes), sample.at.end(), 0.0);
  }
  std::ranges::sort(samples,
                    [](const Sample& a, const Sample& b) { return a.at != b.at ? a.at < b.at : a.value < b.value; });
  if (samples.empty()) {
    return;
  }
  axes_ = axes;
  root_last_ = build(samples, 0).last;
}

Grid::Range Grid::build(std::span<const Sample> samples, std::size_t axis) {
  const auto first = static_cast<std::uint32_t>(nodes_.size());
  std::vector<std::span<const Sample>> groups;
  for (std::size_t begin = 0; begin < samples.size();) {
    std::size_t end = begin + 1;
    while (end < samples.size() && same_up_to(samples[begin], samples[end], axis)) {
      ++end;
    }
    groups.push_back(samples.subspan(begin, end - begin));
    begin = end;
  }
  nodes_.resize(nodes_.size() + groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Node node{groups[i].front().at[axis], 0, {}};
    if (axis + 1 == axes_) {
      for (const Sample& sample : groups[i]) {
        node.value += sample.value / static_cast<double>(groups[i].size());
      }
    } else {
      node.next = build(groups[i], axis + 1);
    }
    nodes_[first + i] = node;
  }
  return {first, first + static_cast<std::uint32_t>(groups.size())};
}

Grid::Answer Grid::at(std::span<const double> point) const {
  BATON_CHECK(!empty() && point.size() == axes_, point.size(), axes_);
  Answer answer = look_up({0, root_last_}, point);
  answer.value = std::max(0.0, answer.value);
  return answer;
}

Grid::Answer Grid::look_up(Range range, std::span<const double> point) const {
  const std::span<const Node> axis(nodes_.data() + range.first, range.last - range.first);
  const Bracket where = bracket(axis, point.front());
  const auto value_of = [&](const Node& node) {
    return point.size() == 1 ? Answer{node.value, false} : look_up(node.next, point.subspan(1));
  };
  Answer low = value_of(axis[where.low]);
  if (where.low != where.high && where.t != 0) {
    const Answer high = value_of(axis[where.high]);
    low.value += where.t * (high.value - low.value);
    low.outside = low.outside || high.outside;
  }
  low.outside = low.outside || where.outside;
  return low;
}

}  // namespace baton::sim
