#include "sim/explorer/trial.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "sim/explorer/forked.h"

namespace baton::chaos {
namespace {

template <class Number>
std::string as_bytes(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  if (!numbers.empty()) {
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
  }
  return bytes;
}

std::vector<std::uint64_t> as_numbers(const std::string& bytes) {
  std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
  if (!numbers.empty()) {
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(std::uint64_t));
  }
  return numbers;
}

// numbers: digest, whether something was found, whether it has a request, which one.
std::vector<std::string> pack(const RunReport& report) {
  std::vector<std::uint64_t> keys;
  for (const InjectedFault& fault : report.injected) {
    if (fault.key != 0) {
      keys.push_back(fault.key);
    }
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<std::uint64_t> numbers{report.digest, 0, 0, 0};
  std::vector<std::string> parts{"", as_bytes(keys), "", ""};
  if (report.violation) {
    const auto& request = report.violation->request;
    numbers = {report.digest, 1, request ? std::uint64_t{1} : 0, request.value_or(0)};
    parts[2] = report.violation->rule;
    parts[3] = report.violation->message;
  }
  parts[0] = as_bytes(numbers);
  return parts;
}

Trial unpack(const std::vector<std::string>& parts) {
  Trial trial;
  const std::vector<std::uint64_t> numbers = as_numbers(parts.at(0));
  trial.digest = numbers.at(0);
  trial.injected = as_numbers(parts.at(1));
  if (numbers.at(1) != 0) {
    Finding finding{parts.at(2), parts.at(3), "", {}};
    if (numbers.at(2) != 0) {
      finding.request = static_cast<std::uint32_t>(numbers.at(3));
    }
    trial.finding = std::move(finding);
  }
  return trial;
}

}  // namespace

Trial try_scenario(const RunFunction& run, const Scenario& scenario, std::chrono::nanoseconds limit) {
  const ForkedEnd end = run_forked([&] { return pack(run(scenario, {})); }, limit);
  if (end.how == ForkedEnd::How::returned) {
    return unpack(end.parts);
  }
  Trial trial;
  trial.finding =
      end.how == ForkedEnd::How::timed_out ? endless_finding(limit) : Finding{kAbortRule, end.cause, end.place, {}};
  return trial;
}

std::optional<Finding> finding_of(const RunReport& report) {
  if (!report.violation) {
    return std::nullopt;
  }
  return Finding{report.violation->rule, report.violation->message, "", report.violation->request};
}

Finding endless_finding(std::chrono::nanoseconds limit) {
  return {kEndlessRule,
          fmt::format("no end after {:g} s of real time", std::chrono::duration<double>(limit).count()),
          "",
          {}};
}

}  // namespace baton::chaos
