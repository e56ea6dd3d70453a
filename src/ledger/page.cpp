// Outcomes as an HTML page: how to read it, a table of counts, and a card for each claim.
#include "report/page.hpp"

#include <fmt/format.h>

#include <map>

#include "ledger/present.hpp"

namespace isentropic::ledger {
namespace {

std::string number(double x) { return fmt::format("{:.6g}", x); }

std::string source_of(const Claim& claim) {
  static const std::map<std::string, std::string> titles = {{"000", "000 information in deep learning"},
                                                            {"001", "001 robustness and entropy"},
                                                            {"002", "002 contrast and InfoNCE"},
                                                            {"003", "003 entropy-invariant scale"},
                                                            {"004", "004 sparsity"}};
  const auto found = titles.find(claim.id.substr(0, 3));
  return found == titles.end() ? "other" : found->second;
}

// What the printed reading says of the same quantity; empty where it says the same.
std::string printed_cell(const Comparison& sound, const std::vector<Comparison>& printed) {
  for (const Comparison& x : printed) {
    if (x.name != sound.name) continue;
    const bool same_value = x.measured == sound.measured, same_form = x.expected == sound.expected;
    if (same_value && same_form) return "";
    std::string out = same_form ? "measured " + number(x.measured) : "expected " + expectation(x);
    if (!same_form && !same_value) out += ", measured " + number(x.measured);
    return out + (x.passed() ? "" : ": fails");
  }
  return "";
}

// How far from the expectation it may be, where that is not said by a range.
std::string within(const Comparison& x) {
  return x.relation != Relation::between && x.tolerance > 0 ? fmt::format("{:.2g}", x.tolerance) : "";
}

std::vector<std::string> row(const Comparison& x, const std::vector<Comparison>& printed) {
  return {x.name, number(x.measured), expectation(x), within(x), printed_cell(x, printed), remark(x)};
}

// Columns that are empty throughout say nothing.
report::DataTable without_empty_columns(const report::DataTable& table) {
  report::DataTable out;
  out.rows.resize(table.rows.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    bool used = false;
    for (const auto& cells : table.rows) used = used || !cells[c].empty();
    if (!used) continue;
    out.columns.push_back(table.columns[c]);
    for (std::size_t r = 0; r < table.rows.size(); ++r) out.rows[r].push_back(table.rows[r][c]);
  }
  return out;
}

report::DataTable numbers(const Outcome& outcome) {
  const bool conditional = outcome.claim.verdict == Verdict::holds_if;
  report::DataTable out{.columns = {"quantity", "measured", "expected", "within",
                                    conditional ? "without the condition" : "as printed", ""}};
  for (const Comparison& x : outcome.sound) out.rows.push_back(row(x, outcome.printed));
  for (const Comparison& x : outcome.printed) {
    bool known = false;
    for (const Comparison& y : outcome.sound) known = known || x.name == y.name;
    if (!known)
      out.rows.push_back(
          {x.name, "", "", "",
           fmt::format("measured {}, expected {}{}", number(x.measured), expectation(x), x.passed() ? "" : ": fails"),
           ""});
  }
  return without_empty_columns(out);
}

const char* use_label(Verdict verdict) {
  switch (verdict) {
    case Verdict::corrected:
      return "use instead";
    case Verdict::holds_if:
      return "condition";
    default:
      return "remark";
  }
}

report::Tone tone(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return report::Tone::good;
    case Verdict::holds_if:
      return report::Tone::limited;
    case Verdict::corrected:
      return report::Tone::changed;
    default:
      return report::Tone::quiet;
  }
}

report::Card card(const Outcome& outcome) {
  report::Card out;
  out.title = outcome.claim.id;
  out.mark = outcome.passed() ? name(outcome.claim.verdict) : standing_of(outcome);
  out.tone = outcome.passed() ? tone(outcome.claim.verdict) : report::Tone::bad;
  out.text = outcome.claim.statement;
  if (!outcome.claim.use.empty()) out.facts.emplace_back(use_label(outcome.claim.verdict), outcome.claim.use);
  if (!outcome.error.empty()) out.facts.emplace_back("error", outcome.error);
  out.numbers = numbers(outcome);
  out.plots = outcome.plots;
  out.facets = {source_of(outcome.claim), name(outcome.claim.verdict), standing_of(outcome)};
  return out;
}

report::DataTable counts(const std::vector<Outcome>& outcomes) {
  std::map<std::string, std::vector<Outcome>> by_source;
  for (const Outcome& x : outcomes) by_source[source_of(x.claim)].push_back(x);
  report::DataTable out{
      .title = "", .columns = {"source", "claims", "passed", "failed", "pending", "nothing to compute"}, .rows = {}};
  const auto add = [&](const std::string& label, const std::vector<Outcome>& list) {
    const Tally t = tally(list);
    out.rows.push_back({label, std::to_string(list.size()), std::to_string(t.passed), std::to_string(t.failed),
                        std::to_string(t.pending), std::to_string(t.listed)});
  };
  for (const auto& [label, list] : by_source) add(label, list);
  if (by_source.size() > 1) add("all", outcomes);
  return out;
}

}  // namespace

std::string page(const std::vector<Outcome>& outcomes, const Options& options) {
  report::Page out;
  out.title = "What holds";
  out.subtitle = fmt::format("Claims about attention and information, each checked by an experiment. Seed {}, {} tier.",
                             options.seed, options.effort == Effort::quick ? "quick" : "thorough");
  out.parts.emplace_back(report::Prose{
      .paragraphs = {"Every card states a claim in our words, with a verdict. A claim that was corrected, or that "
                     "needs a condition, is checked twice with the same random numbers: the right form must pass, and "
                     "the claim as it was printed must fail. Measured values come from the attention kernels, from "
                     "sampling, from finite differences or from integration; expected values from the closed forms. A "
                     "row that says quoted compares with a number found earlier in other draws, within its error.",
                     "Nothing to compute: definitions, slips of the pen, views, and advice that no experiment here can "
                     "settle. Pending: claims about trained networks."}});
  out.parts.emplace_back(counts(outcomes));
  report::CardList list{.facets = {"source", "verdict", "standing"}};
  for (const Outcome& x : outcomes) list.cards.push_back(card(x));
  out.parts.emplace_back(std::move(list));
  return report::html(out);
}

}  // namespace isentropic::ledger
