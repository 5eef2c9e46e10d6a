// A measured function on a grid of up to four axes, interpolated linearly along each of them.
//
// Linear and not logarithmic: kernels are linear in each of their sizes between two measured points, and
// leave-one-out tests on published tables found 2-4 % error against 12-14 % in log space (LLMServingSim 2.0).
// The grid may have holes along its last axes: every value of an axis has axes of its own behind it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace baton::sim {

class Grid final {
 public:
  static constexpr std::size_t kAxesMax = 4;

  struct Sample {
    std::array<double, kAxesMax> at{};
    double value = 0;
  };
  struct Answer {
    double value = 0;
    bool outside = false;  // beyond the measured range of an axis: clamped below, continued in a line above
  };

  Grid() = default;
  // Samples in any order; those at the same point are averaged. `axes` of `at` are used.
  Grid(std::vector<Sample> samples, std::size_t axes);

  bool empty() const noexcept { return nodes_.empty(); }

  // The interpolated value; not below zero. Needs a grid that is not empty and as many coordinates as axes.
  Answer at(std::span<const double> point) const;

 private:
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  // A value of an axis, with the values of the next axis behind it; on the last axis it has the function's value.
  struct Node {
    double key = 0;
    double value = 0;
    Range next;
  };

  Range build(std::span<const Sample> samples, std::size_t axis);
  Answer look_up(Range range, std::span<const double> point) const;

  std::vector<Node> nodes_;
  std::size_t axes_ = 0;
  std::uint32_t root_last_ = 0;
};

}  // namespace baton::sim
