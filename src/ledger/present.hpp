// Presents outcomes to people (a line each, a page) and to programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ledger/run.hpp"

namespace isentropic::ledger {

struct Tally {
  int passed = 0, failed = 0;
  int stored = 0, pending = 0;  // not checked in this tier: with a stored study, or without one yet
  int listed = 0;               // nothing to compute
};

Tally tally(const std::vector<Outcome>& outcomes);

// "passed", "FAILED", "stored", "pending", "listed".
const char* standing_of(const Outcome& outcome);

// "0.5", "at most 2", "5 to 7", "finite"; empty for a number that is only shown.
std::string expectation(const Comparison& comparison);

// "fails", "not judged" if the tolerance is too wide to be meaningful, else "".
const char* remark(const Comparison& comparison);

// Describes a claim whose check did not run: its statement, its stored study, or that there is none.
std::string without_check(const Claim& claim);
// One line: mark, id, verdict, the first judged comparison and, if there is one, the printed form's.
std::string line(const Outcome& outcome);
// Every comparison of an outcome and every stored figure, one per line, indented.
std::string details(const Outcome& outcome);

// {"claims": [{"id", "statement", "verdict", "use", "passed", "printed_form_fails", "measured", "tolerance", "study"}],
//  "passed", "failed", "stored", "pending", "listed", "verdicts": {"holds": 133, ...}, "seed", "effort"}
nlohmann::ordered_json json(const std::vector<Outcome>& outcomes, const Options& options);

// A single HTML file.
std::string page(const std::vector<Outcome>& outcomes, const Options& options);

}  // namespace isentropic::ledger
