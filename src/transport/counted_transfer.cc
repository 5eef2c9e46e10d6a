#include "transport/counted_transfer.h"

#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/mutants.h"
#include "transport/wire.h"

namespace baton {

CountedTransfer::CountedTransfer(TransferId id, std::uint32_t prompt_tokens, std::uint32_t pages, std::string origin)
    : id_(id), prompt_tokens_(prompt_tokens), origin_(std::move(origin)), page_seen_(pages) {
  BATON_CHECK(pages <= kTransferPagesMax, pages);
}

void CountedTransfer::count_write(std::uint32_t sequence, std::uint32_t first_page, std::uint32_t pages) {
  if (failure_ || complete()) {
    return;
  }
  const auto pages_total = static_cast<std::uint32_t>(page_seen_.size());
  if (first_page > pages_total || pages > pages_total - first_page || sequence >= writes_max(pages_total)) {
    fail(fmt::format("write {} of pages {}+{} is outside of a landing of {} pages", sequence, first_page, pages,
                     pages_total));
    return;
  }
  if (sequence >= write_seen_.size()) {
    write_seen_.resize(sequence + 1);
  }
  if (write_seen_[sequence] && !mutant(Mutant::duplicate_writes_count)) {
    return;
  }
  write_seen_[sequence] = true;
  ++writes_seen_;
  for (std::uint32_t page = first_page; page < first_page + pages; ++page) {
    pages_seen_ += page_seen_[page] ? 0 : 1;
    page_seen_[page] = true;
  }
  check_totals();
}

bool CountedTransfer::take_record(SideRecord record) {
  if (record.id != id_ && !mutant(Mutant::record_fits_any_room)) {
    return false;
  }
  if (failure_ || complete()) {
    return true;
  }
  if (record_ && encode(record) != encode(*record_)) {
    fail("two different records came for one room");
    return true;
  }
  record_ = std::move(record);
  check_totals();
  return true;
}

void CountedTransfer::check_totals() {
  if (!record_) {
    return;
  }
  if (record_->prompt_tokens != prompt_tokens_ || record_->pages_total != page_seen_.size()) {
    fail(fmt::format("the record is for {} tokens in {} pages, the landing for {} in {}", record_->prompt_tokens,
                     record_->pages_total, prompt_tokens_, page_seen_.size()));
  } else if (record_->writes_total > writes_max(record_->pages_total)) {
    fail(fmt::format("the record declares {} writes for {} pages", record_->writes_total, record_->pages_total));
  } else if (record_->writes_total < write_seen_.size()) {
    fail(fmt::format("the record declares {} writes, but number {} came", record_->writes_total,
                     write_seen_.size() - 1));
  } else if (writes_seen_ == record_->writes_total && pages_seen_ != page_seen_.size()) {
    fail(fmt::format("all {} writes came, but only {} of {} pages were in them", writes_seen_, pages_seen_,
                     page_seen_.size()));
  }
}

bool CountedTransfer::complete() const noexcept {
  if (mutant(Mutant::success_without_all_writes)) {
    return record_ && !failure_;
  }
  if (mutant(Mutant::success_without_record) && !record_) {
    return !failure_ && pages_seen_ == page_seen_.size();
  }
  return record_ && !failure_ && writes_seen_ == record_->writes_total && pages_seen_ == page_seen_.size();
}

const SideRecord& CountedTransfer::record() const {
  BATON_CHECK(complete(), pages_seen_, writes_seen_);
  if (mutant(Mutant::success_without_record)) {
    static const SideRecord kNothing;
    return record_ ? *record_ : kNothing;
  }
  return *record_;
}

void CountedTransfer::fail(std::string message) {
  failure_.emplace(Errc::corrupt, origin_, std::move(message));
}

}  // namespace baton
