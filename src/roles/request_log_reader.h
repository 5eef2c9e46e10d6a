// Reads a request log back: CSV or JSONL by its name, as RequestLog wrote it or as other programs have rearranged it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "roles/request_log_record.h"

namespace baton {

// Hands out the records in the order of the file. Columns may stand in any order, and others beside them are passed
// over; all of baton's must be there, but for `id` and what a record may lack. Throws Error(not_found) when there is
// no such file, Error(invalid_argument) for a name that ends in neither .csv nor .jsonl, and Error(bad_file) naming
// file, line and column for what cannot be a record.
void read_request_log(const std::string& path, const std::function<void(RequestRecord&&)>& take);

std::vector<RequestRecord> read_request_log(const std::string& path);

}  // namespace baton
