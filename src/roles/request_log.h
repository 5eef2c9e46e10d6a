// RequestLog: a file with one line for each finished request, CSV or JSONL by its name. Written alike by the server
// and by the simulator; request_log_reader.h reads it back.
//
//   write() --> buffer --> thread of its own --> file      so that no loop waits for a disk
//
// Lines reach the file within about a second, and all of them by close(): a crash loses that second's at most. What the
// file held before is replaced.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "roles/request_log_fields.h"
#include "roles/request_log_record.h"

namespace baton {

class RequestLog final {
 public:
  // Throws Error(invalid_argument) for a name that ends in neither .csv nor .jsonl, Error(unavailable) when the file
  // cannot be made.
  explicit RequestLog(std::string path);
  ~RequestLog();  // as close(), but says nothing of failures
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  // Any thread. Waits only for a disk that is behind by kBufferMax. Nothing is written after a failure.
  void write(const RequestRecord& record);

  // Writes what is left. Throws Error(unavailable) if the file does not hold everything. Idempotent.
  void close();

  std::uint64_t records() const;
  const std::string& path() const noexcept { return path_; }

  static constexpr std::size_t kBufferMax = std::size_t{16} << 20;  // bytes

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  void run();
  bool put(const std::string& text) noexcept;
  void stop() noexcept;

  std::string path_;
  RequestLogFormat format_;
  std::unique_ptr<std::FILE, CloseFile> file_;  // of the thread
  mutable std::mutex mutex_;                    // over what follows, but the thread
  std::condition_variable written_to_;
  std::condition_variable emptied_;
  std::string buffer_;
  std::string failure_;  // why the file is incomplete
  std::uint64_t records_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace baton
