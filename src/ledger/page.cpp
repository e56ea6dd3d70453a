// Outcomes as an HTML page: the verdicts counted, how to read it, the sources, and a card per claim.
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ledger/present.hpp"
#include "ledger/source.hpp"
#include "ledger/study.hpp"

namespace isentropic::ledger {
namespace {

std::string number(double x) { return fmt::format("{:.6g}", x); }

// The verdicts in reading order, and what they mean.
struct Kind {
  Verdict verdict;
  report::Tone tone;
  const char* meaning;
};
constexpr Kind kKinds[] = {
    {Verdict::corrected, report::Tone::changed, "wrong as printed; the right form is given"},
    {Verdict::holds_if, report::Tone::limited, "true under a condition"},
    {Verdict::holds, report::Tone::good, "true as printed"},
    {Verdict::note, report::Tone::quiet, "added here"},
    {Verdict::slip, report::Tone::quiet, "a slip of the pen"},
    {Verdict::view, report::Tone::quiet, "an interpretation"},
    {Verdict::not_checked, report::Tone::quiet, "advice, or open"},
};

const Kind& kind_of(Verdict verdict) { return *std::ranges::find(kKinds, verdict, &Kind::verdict); }

// What the printed reading gives for the same quantity; empty if it gives the same.
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

// With its tolerance, unless that is expressed by a range.
std::string expected_cell(const Comparison& x) {
  const bool open_ended = x.relation == Relation::at_most || x.relation == Relation::at_least;
  if (!(x.tolerance > 0) || !(open_ended || x.relation == Relation::near)) return expectation(x);
  const char* sign = x.relation == Relation::near ? "±" : x.relation == Relation::at_most ? "+" : "−";
  return fmt::format("{} {} {:.2g}", expectation(x), sign, x.tolerance);
}

std::vector<std::string> row(const Comparison& x, const std::vector<Comparison>& printed) {
  return {x.name, number(x.measured), expected_cell(x), printed_cell(x, printed), remark(x)};
}

// Drops columns that are empty throughout.
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
  report::DataTable out{
      .columns = {"quantity", "measured", "expected", conditional ? "without the condition" : "as printed", ""}};
  for (const Comparison& x : outcome.sound) out.rows.push_back(row(x, outcome.printed));
  for (const Comparison& x : outcome.printed) {
    bool known = false;
    for (const Comparison& y : outcome.sound) known = known || x.name == y.name;
    if (!known)
      out.rows.push_back(
          {x.name, "", "",
           fmt::format("measured {}, expected {}{}", number(x.measured), expectation(x), x.passed() ? "" : ": fails"),
           ""});
  }
  if (const StoredStudy* study = stored_study_of(outcome.claim.id))
    for (const StoredStudy::Figure& figure : study->figures)
      out.rows.push_back({figure.name, text(figure), "", "", "stored"});
  return without_empty_columns(out);
}

// Where stored figures come from, or that there are none.
void add_study(const Claim& claim, report::Card* card) {
  if (claim.standing != Standing::study) return;
  const StoredStudy* study = stored_study_of(claim.id);
  if (study == nullptr) {
    card->facts.emplace_back("study", without_check(claim));
    return;
  }
  card->facts.emplace_back("found", study->finding);
  for (const std::string& command : study->commands) card->facts.emplace_back("stored study", command);
  card->facts.emplace_back("made", fmt::format("{}, {} seeds, {}", study->date, study->seeds, study->machine));
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

report::Card card(const Outcome& outcome) {
  report::Card out;
  out.title = outcome.claim.id;
  out.mark = outcome.passed() ? name(outcome.claim.verdict) : standing_of(outcome);
  out.tone = outcome.passed() ? kind_of(outcome.claim.verdict).tone : report::Tone::bad;
  out.origin = place_of(outcome.claim);
  out.text = outcome.claim.statement;
  if (!outcome.claim.use.empty()) out.facts.emplace_back(use_label(outcome.claim.verdict), outcome.claim.use);
  add_study(outcome.claim, &out);
  if (!outcome.error.empty()) out.facts.emplace_back("error", outcome.error);
  out.numbers = numbers(outcome);
  out.plots = outcome.plots;
  out.facets = {source_of(outcome.claim).name(), name(outcome.claim.verdict), standing_of(outcome)};
  return out;
}

std::size_t count(const std::vector<Outcome>& outcomes, Verdict verdict) {
  return static_cast<std::size_t>(
      std::ranges::count_if(outcomes, [&](const Outcome& x) { return x.claim.verdict == verdict; }));
}

// Failures, then every verdict that occurs.
report::Counts verdicts(const std::vector<Outcome>& outcomes) {
  report::Counts out;
  if (const int failed = tally(outcomes).failed; failed > 0)
    out.counts.push_back({"standing", "FAILED", static_cast<std::size_t>(failed), report::Tone::bad,
                          "the check does not show what the verdict says"});
  for (const Kind& kind : kKinds)
    if (const std::size_t found = count(outcomes, kind.verdict); found > 0)
      out.counts.push_back({"verdict", name(kind.verdict), found, kind.tone, kind.meaning});
  return out;
}

report::DataTable by_source(const std::vector<Outcome>& outcomes) {
  report::DataTable out{.columns = {"source", "claims", "corrected", "holds-if", "holds", "other"}};
  const auto add = [&](const std::string& label, const std::vector<Outcome>& list) {
    if (list.empty()) return;
    const std::size_t corrected = count(list, Verdict::corrected), limited = count(list, Verdict::holds_if),
                      holds = count(list, Verdict::holds);
    out.rows.push_back({label, std::to_string(list.size()), std::to_string(corrected), std::to_string(limited),
                        std::to_string(holds), std::to_string(list.size() - corrected - limited - holds)});
  };
  for (const Source& source : sources()) {
    std::vector<Outcome> list;
    std::ranges::copy_if(outcomes, std::back_inserter(list),
                         [&](const Outcome& x) { return source_of(x.claim).id == source.id; });
    add(source.name(), list);
  }
  if (out.rows.size() > 1) add("all", outcomes);
  return out;
}

report::Glossary references() {
  report::Glossary out{.heading = "Sources"};
  for (const Source& source : sources()) out.entries.push_back({source.id, source.text, source.address});
  return out;
}

// Failures first, then by verdict; within a verdict, in the order of the sources.
report::CardList cards(const std::vector<Outcome>& outcomes) {
  std::vector<const Outcome*> order;
  for (const Outcome& x : outcomes) order.push_back(&x);
  std::ranges::stable_sort(
      order, {}, [](const Outcome* x) { return x->passed() ? 1 + (&kind_of(x->claim.verdict) - kKinds) : 0; });
  report::CardList out{.facets = {"source", "verdict", "standing"}};
  for (const Outcome* x : order) out.cards.push_back(card(*x));
  return out;
}

}  // namespace

std::string page(const std::vector<Outcome>& outcomes, const Options& options) {
  report::Page out;
  out.title = "What holds";
  out.subtitle = fmt::format("Claims about attention and information, each checked by an experiment. Seed {}, {} tier.",
                             options.seed, options.effort == Effort::quick ? "quick" : "thorough");
  const Tally t = tally(outcomes);
  out.parts.emplace_back(verdicts(outcomes));
  out.parts.emplace_back(report::Prose{
      .paragraphs = {fmt::format("{} checks passed, {} failed; of the claims about trained networks {} show a stored "
                                 "study and {} have none yet; {} have nothing to compute (definitions, slips of the "
                                 "pen, views, advice).",
                                 t.passed, t.failed, t.stored, t.pending, t.listed),
                     "Every card states a claim in our words, where it stands in its source, and a verdict. A claim "
                     "that was corrected, or that needs a condition, is checked twice with the same random numbers: "
                     "the right form must pass, and the claim as it was printed must fail. Measured values come from "
                     "the attention kernels, from sampling, from finite differences or from integration; expected "
                     "values from the closed forms, with how far off a measurement may be (±). A row that says quoted "
                     "compares with a number found earlier in other draws, within its error."}});
  out.parts.emplace_back(by_source(outcomes));
  out.parts.emplace_back(references());
  out.parts.emplace_back(cards(outcomes));
  return report::html(out);
}

}  // namespace isentropic::ledger
