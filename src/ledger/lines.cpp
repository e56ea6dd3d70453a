// Outcomes as lines of plain text.
#include <fmt/format.h>

#include "ledger/present.hpp"

namespace isentropic::ledger {
namespace {

std::string text(const Comparison& x) {
  std::string out = fmt::format("{} = {:.6g}", x.name, x.measured);
  if (x.relation != Relation::shown) out += ", expected " + expectation(x);
  if (x.relation != Relation::between && x.tolerance > 0) out += fmt::format(" within {:.2g}", x.tolerance);
  if (x.passed() && *remark(x)) out += fmt::format(", {}", remark(x));
  return out;
}

// The comparison that says most in one line: the first that failed, else the first that was judged.
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
    if (x.has_check())
      ++(x.passed() ? out.passed : out.failed);
    else
      ++(x.claim.standing == Standing::pending ? out.pending : out.listed);
  }
  return out;
}

const char* standing_of(const Outcome& outcome) {
  if (outcome.has_check()) return outcome.passed() ? "passed" : "FAILED";
  return outcome.claim.standing == Standing::pending ? "pending" : "listed";
}

std::string line(const Outcome& outcome) {
  std::string out =
      fmt::format("{:<8}{:<22}{:<12}", standing_of(outcome), outcome.claim.id, name(outcome.claim.verdict));
  if (!outcome.has_check()) return out + outcome.claim.statement;
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
  return out;
}

}  // namespace isentropic::ledger
