// Parts of request bodies that several endpoints share; used by the parsers of api_request.h only.
#pragma once

#include <cstdint>
#include <vector>

#include "model/text/chat_template.h"
#include "roles/http/api_request.h"
#include "roles/http/json_fields.h"

namespace baton {

// Records 404 unless the model is the one served, absent or empty.
void check_model(JsonFields& fields, const ApiLimits& limits);

// Everything of RequestOptions but the log-probability fields and max_tokens, whose form differs by endpoint.
void read_options(JsonFields& fields, const ApiLimits& limits, RequestOptions& options);
// What can only be judged when all fields are known.
void check_options(JsonFields& fields, const ApiLimits& limits, const RequestOptions& options);

void read_messages(JsonFields& fields, std::vector<ChatMessage>& messages);
void read_chat_options(JsonFields& fields, ChatOptions& options);

}  // namespace baton
