// Who gives pages back when the next decode step lacks some. A pure function.
//
// Victims are those who lose least: fewest output tokens first, among equals the longest prompt (it frees most), then
// the latest arrival; or always the latest of the batch. At least one request always stays, so that the batch goes on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace baton::policy {

// What becomes of the keys and values of a retracted request: kept in host memory, or computed once more.
enum class Retraction : std::uint8_t { copy, recompute };

// Who goes first: those who lose least, or the latest in the batch (as vLLM does: the order of arrival is kept).
enum class Victims : std::uint8_t { least_lost, latest };

struct RetractionCandidate {
  std::uint32_t output_tokens = 0;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t pages = 0;         // held now
  std::uint32_t pages_wanted = 0;  // more pages its next step needs
  bool retractable = true;         // false while a step or a transfer is using its pages
};

// Indices of the victims in the order chosen. `free_pages` are free before anyone is retracted. Empty when the step
// fits, or when nobody more can be retracted: then not everybody can take part in the next step.
std::vector<std::size_t> choose_victims(std::span<const RetractionCandidate> running, std::uint32_t free_pages,
                                        Victims order = Victims::least_lost);

// The one to retract when one is asked for although pages suffice (a test setting): the first in the order above.
// Empty when that would leave nobody.
std::vector<std::size_t> choose_one_victim(std::span<const RetractionCandidate> running,
                                           Victims order = Victims::least_lost);

}  // namespace baton::policy
