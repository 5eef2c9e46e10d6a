#include "roles/request_log.h"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton {
namespace {

constexpr auto kFlushEvery = std::chrono::seconds(1);
constexpr std::size_t kFlushAbove = std::size_t{1} << 18;  // bytes: do not wait for the second

std::string last_error() {
  return std::generic_category().message(errno);
}

RequestLogFormat format_of(const std::string& path) {
  const std::optional<RequestLogFormat> format = request_log_format(path);
  if (!format) {
    throw Error(Errc::invalid_argument, fmt::format("the request log {} ends in neither .csv nor .jsonl", path));
  }
  return *format;
}

}  // namespace

RequestLog::RequestLog(std::string path)
    : path_(std::move(path)), format_(format_of(path_)), file_(std::fopen(path_.c_str(), "wb")) {
  if (!file_) {
    throw Error(Errc::unavailable, fmt::format("cannot write the request log {}: {}", path_, last_error()));
  }
  buffer_ = request_log_header(format_);
  thread_ = std::thread([this] { run(); });
}

RequestLog::~RequestLog() {
  stop();
}

void RequestLog::write(const RequestRecord& record) {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [this] { return buffer_.size() < kBufferMax || !failure_.empty(); });
  ++records_;
  if (!failure_.empty()) {
    return;
  }
  const bool little = buffer_.size() < kFlushAbove;
  append_request(buffer_, record, format_);
  if (little && buffer_.size() >= kFlushAbove) {
    written_to_.notify_one();
  }
}

void RequestLog::close() {
  stop();
  if (!failure_.empty()) {
    throw Error(Errc::unavailable, fmt::format("the request log {} is incomplete: {}", path_, failure_));
  }
}

std::uint64_t RequestLog::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

void RequestLog::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  written_to_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void RequestLog::run() {
  std::string text;
  for (bool closing = false; !closing;) {
    std::unique_lock lock(mutex_);
    written_to_.wait_for(lock, kFlushEvery, [this] { return closing_ || buffer_.size() >= kFlushAbove; });
    closing = closing_;
    text.clear();
    std::swap(text, buffer_);
    lock.unlock();
    emptied_.notify_all();
    if (!put(text)) {
      const std::string reason = last_error();
      lock.lock();
      failure_ = failure_.empty() ? reason : failure_;
      lock.unlock();
      emptied_.notify_all();
    }
  }
}

bool RequestLog::put(const std::string& text) noexcept {
  return std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && std::fflush(file_.get()) == 0;
}

}  // namespace baton
