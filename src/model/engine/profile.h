// Where the time of forward passes goes, by operator: for bench_engine --profile, off otherwise.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace baton {

enum class Operator : std::uint8_t { embed, norm, qkv, rope, store, attention, output, gate_up, down, head, sampling };

inline constexpr std::size_t kOperators = 11;

std::string_view to_string(Operator op) noexcept;

// Adds up wall time as the leading thread of the lane sees it. One per running step; not thread-safe.
class Profile final {
 public:
  void add(Operator op, std::chrono::nanoseconds elapsed) noexcept { ns_[static_cast<std::size_t>(op)] += elapsed; }
  std::chrono::nanoseconds total() const noexcept;
  std::string report() const;  // a line per operator that took time: name, milliseconds, share of the total

 private:
  std::array<std::chrono::nanoseconds, kOperators> ns_{};
};

// Times a scope into a profile, or does nothing where there is none.
class ProfileScope final {
 public:
  ProfileScope(Profile* profile, Operator op) noexcept : profile_(profile), operator_(op) {
    if (profile_ != nullptr) {
      begin_ = std::chrono::steady_clock::now();
    }
  }
  ~ProfileScope() {
    if (profile_ != nullptr) {
      profile_->add(operator_, std::chrono::steady_clock::now() - begin_);
    }
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profile* profile_;
  Operator operator_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace baton
