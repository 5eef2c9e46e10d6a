#include "transport/endpoint.h"

#include "runtime/check.h"

namespace baton {

const char* to_string(NoticeKind kind) noexcept {
  switch (kind) {
    case NoticeKind::written:
      return "written";
    case NoticeKind::record:
      return "record";
    case NoticeKind::failed:
      return "failed";
    case NoticeKind::closed:
      return "closed";
    case NoticeKind::answer:
      return "answer";
  }
  return "unknown";
}

Notice Notice::written(TransferId id, PeerId from, std::uint32_t sequence, std::uint32_t first_page,
                       std::uint32_t pages) {
  Notice notice(NoticeKind::written, id, from);
  notice.sequence = sequence;
  notice.first_page = first_page;
  notice.pages = pages;
  return notice;
}

Notice Notice::record(TransferId id, PeerId from, Bytes body) {
  Notice notice(NoticeKind::record, id, from);
  notice.body = std::move(body);
  return notice;
}

std::vector<PageRun> merge_runs(std::span<const PageId> source, std::span<const PageId> target) {
  BATON_CHECK(source.size() == target.size(), source.size(), target.size());
  std::vector<PageRun> runs;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (!runs.empty() && runs.back().source + runs.back().pages == source[i] &&
        runs.back().target + runs.back().pages == target[i]) {
      ++runs.back().pages;
    } else {
      runs.push_back({source[i], target[i], 1});
    }
  }
  return runs;
}

}  // namespace baton
