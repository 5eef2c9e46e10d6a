#include "sim/report/write_report.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "sim/report/html_page.h"
#include "sim/report/perfetto.h"

namespace baton::sim {
namespace {

class OutputFile final {
 public:
  explicit OutputFile(std::filesystem::path path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
    check(file_ != nullptr);
  }

  void write(std::string_view text) { check(std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size()); }

  void close() {
    std::FILE* file = file_.release();
    check(std::fclose(file) == 0);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  void check(bool good) const {
    if (!good) {
      const std::string reason = std::generic_category().message(errno);
      throw Error(Errc::unavailable, fmt::format("cannot write {}: {}", path_.string(), reason));
    }
  }

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

void write_file(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.close();
}

}  // namespace

void write_report(const RunResult& result, const Summary& summary, const std::string& folder) {
  const std::filesystem::path place(folder);
  std::error_code failed;
  std::filesystem::create_directories(place, failed);
  if (failed) {
    throw Error(Errc::unavailable, fmt::format("cannot make the folder {}: {}", folder, failed.message()));
  }
  write_file(place / "summary.json", summary_json(result, summary));
  write_file(place / "report.html", html_page(result, summary));
  OutputFile trace(place / "trace.json");
  trace_json(result, [&trace](std::string_view piece) { trace.write(piece); });
  trace.close();
}

}  // namespace baton::sim
