// The report as one web page that needs nothing else: curves of the distributions, queues and utilisation over time,
// and a timeline of requests to zoom into. page.html draws; this puts the figures in.
#pragma once

#include <string>
#include <string_view>

#include "sim/report/run_result.h"
#include "sim/report/summary.h"

namespace baton::sim {

std::string html_page(const RunResult& result, const Summary& summary);

// What the page draws, as JSON: the summary, quantiles of the main times, the samples (thinned out to about two
// thousand by taking means), the requests that were kept.
std::string page_data(const RunResult& result, const Summary& summary);

extern const std::string_view kPageText;  // page.html, made part of the program by embed.cmake

}  // namespace baton::sim
