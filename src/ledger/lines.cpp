// Outcomes as lines of plain text.
#include <fmt/format.h>

#include "ledger/present.hpp"
#include "ledger/study.hpp"

namespace isentropic::ledger {
namespace {

std::string text(const Comparison& x) {
  std::string out = fmt::format("{} = {:.6g}", x.name, x.measured);
  if (x.relation != Relation::shown) out += ", expected " + expectation(x);
  if (x.relation != Relation::between && x.tolerance > 0) out += fmt::format(" within {:.2g}", x.tolerance);
  if (x.passed() && *remark(x)) out += fmt::format(", {}", remark(x));
  return out;
}

// The most informative comparison for a single line: the first that failed, else the first that was judged.
const Comparison* telling(const std::vector<Comparison>& comparisons) {
  const Comparison* out = nullptr;
  for (const Comparison& x : comparisons) {
    if (!x.passed()) return &x;
    if (out == nullptr && x.judged()) out = &x;
  }
  return out;
}

}  // namespace

std::string expectation(const Comparison& x) {
  switch (x.relation) {
    case Relation::near:
      return fmt::format("{:.6g}", x.expected);
    case Relation::at_most:
      return fmt::format("at most {:.6g}", x.expected);
    case Relation::at_least:
      return fmt::format("at least {:.6g}", x.expected);
    case Relation::between:
      return fmt::format("{:.6g} to {:.6g}", x.expected - x.tolerance, x.expected + x.tolerance);
    case Relation::finite:
      return "finite";
    case Relation::shown:
      break;
  }
  return "";
}

const char* remark(const Comparison& x) {
  if (!x.passed()) return "fails";
  return x.relation == Relation::shown || x.judged() ? "" : "not judged";
}

Tally tally(const std::vector<Outcome>& outcomes) {
  Tally out;
  for (const Outcome& x : outcomes) {
    if (x.checked)
      ++(x.passed() ? out.passed : out.failed);
    else if (x.claim.standing == Standing::study)
      ++(stored_study_of(x.claim.id) ? out.stored : out.pending);
    else
      ++out.listed;
  }
  return out;
}

const char* standing_of(const Outcome& outcome) {
  if (outcome.checked) return outcome.passed() ? "passed" : "FAILED";
  if (outcome.claim.standing != Standing::study) return "listed";
  return stored_study_of(outcome.claim.id) ? "stored" : "pending";
}

std::string without_check(const Claim& claim) {
  if (claim.standing != Standing::study) return claim.statement;
  const char* where = claim.on_libtorch ? ", in a build with PyTorch (make models)" : "";
  if (const StoredStudy* study = stored_study_of(claim.id))
    return fmt::format("{} ({} seeds, {}: {}{}); verify --thorough trains networks{}", study->finding, study->seeds,
                       study->date, study->commands.front(), study->commands.size() > 1 ? ", ..." : "", where);
  return fmt::format("no stored study yet; verify --thorough trains networks{}", where);
}

std::string line(const Outcome& outcome) {
  std::string out =
      fmt::format("{:<8}{:<22}{:<12}", standing_of(outcome), outcome.claim.id, name(outcome.claim.verdict));
  if (!outcome.checked) return out + without_check(outcome.claim);
  if (!outcome.error.empty()) return out + outcome.error;
  if (const Comparison* x = telling(outcome.sound)) out += text(*x);
  if (outcome.printed_form_fails() == true) {
    const Comparison* x = telling(outcome.printed);
    const char* reading = outcome.claim.verdict == Verdict::holds_if ? "without the condition" : "as printed";
    out += x ? fmt::format("; {} {}", reading, text(*x)) : "";
  } else if (outcome.printed_form_fails() == false) {
    out += "; the printed form passes too";
  }
  return out;
}

std::string details(const Outcome& outcome) {
  std::string out;
  for (const auto& [label, list] : {std::pair{"", &outcome.sound}, std::pair{"printed: ", &outcome.printed}})
    for (const Comparison& x : *list) out += fmt::format("    {}{}{}\n", x.passed() ? "" : "fails: ", label, text(x));
  if (const StoredStudy* study = stored_study_of(outcome.claim.id)) {
    for (const std::string& command : study->commands) out += fmt::format("    stored, {}: {}\n", study->date, command);
    for (const StoredStudy::Figure& figure : study->figures)
      out += fmt::format("    stored: {} = {}\n", figure.name, text(figure));
  }
  return out;
}

}  // namespace isentropic::ledger
