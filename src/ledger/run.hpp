// Running claims: each check in both readings, several side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ledger/claim.hpp"

namespace isentropic::ledger {

struct Options {
  std::uint64_t seed = 1;
  Effort effort = Effort::quick;
  int threads = 0;  // 0: one for each core
};

struct Outcome {
  Claim claim;
  std::vector<Comparison> sound, printed;  // printed: only where the claim must fail as printed
  std::vector<report::Plot> plots;
  std::string error;     // what an exception said; then it failed
  bool checked = false;  // its check ran

  bool sound_passes() const;
  // Empty where there is no printed reading.
  std::optional<bool> printed_form_fails() const;
  // The sound reading passes and the printed one, if any, fails. True where nothing was checked.
  bool passed() const;
};

// The check of one claim in one reading. The seed is mixed with the id: claims do not share random numbers, and a
// claim's numbers do not depend on which others run.
Check run_check(const Claim& claim, Reading reading, const Options& options);

// Outcomes in the order of the claims; `done` is called from one thread at a time as soon as the next one is known.
using Done = std::function<void(const Outcome&)>;
std::vector<Outcome> run_claims(const std::vector<Claim>& claims, const Options& options, const Done& done = {});

}  // namespace isentropic::ledger
