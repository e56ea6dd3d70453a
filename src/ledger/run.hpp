// Runs claims: each check in both readings, several in parallel.
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
  int threads = 0;  // 0: one per core
};

struct Outcome {
  Claim claim;
  std::vector<Comparison> sound, printed;  // printed: only if the claim must fail as printed
  std::vector<report::Plot> plots;
  std::string error;     // the message of an exception; the claim then failed
  bool checked = false;  // whether its check ran

  bool sound_passes() const;
  // Empty if there is no printed reading.
  std::optional<bool> printed_form_fails() const;
  // Whether the sound reading passes and the printed one, if any, fails. True if nothing was checked.
  bool passed() const;
};

// Runs the check of one claim in one reading. The seed is mixed with the id, so that claims do not share random numbers
// and a claim's numbers do not depend on which others run.
Check run_check(const Claim& claim, Reading reading, const Options& options);

// Outcomes in the order of the claims; `done` is called in the same order, from one thread at a time, as each one
// becomes available.
using Done = std::function<void(const Outcome&)>;
std::vector<Outcome> run_claims(const std::vector<Claim>& claims, const Options& options, const Done& done = {});

}  // namespace isentropic::ledger
