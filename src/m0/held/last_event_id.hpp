#pragma once
// Where a client says it is: the field that browsers send when they come back, or the query of the first visit.

#include <string>

#include "m0/http/request_head.hpp"

namespace m0::held {

/// The value of Last-Event-ID, or else of ?last_event_id=, decoded; empty where there is neither. The field wins: a
/// browser that comes back asks for the same URL, whose query is older.
[[nodiscard]] std::string last_event_id(const http::RequestHead& request);

}  // namespace m0::held
