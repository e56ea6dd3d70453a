// A check: an experiment that measures with the product's own code and compares with a formula.
//
// It is written once and read twice. In the sound reading it judges the corrected form, or the claim under its
// condition, and must pass. In the printed reading it judges what the source printed, or the claim without its
// condition, and must fail. The random numbers of both readings are the same; only choose() tells them apart:
//
//   void mean_of_a_ratio(Check& check) {
//     const Estimate bias = ...;                                       // Monte Carlo
//     const double predicted = check.choose(ex / ey - cov / (ey * ey) + ..., printed_formula);
//     check.near("bias", bias, predicted);                             // within 5 standard errors
//   }
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "experiments/tools/estimate.hpp"
#include "report/plot.hpp"

namespace isentropic::information {}
namespace isentropic::theory {}

namespace isentropic::ledger {

// Claims are written in the language of the closed forms, the estimators and the tools of every experiment.
using namespace experiments::tools;
using namespace information;
using namespace theory;

// A number in the name of a comparison: six digits at most, "0.07".
std::string short_text(double x);

enum class Reading : std::uint8_t { sound, printed };
enum class Effort : std::uint8_t { quick, thorough };

enum class Relation : std::uint8_t {
  near,      // |measured - expected| <= tolerance
  at_most,   // measured <= expected + tolerance
  at_least,  // measured >= expected - tolerance
  between,   // the same as near; said as a range
  finite,    // measured is neither infinite nor NaN
  shown      // not judged
};

struct Comparison {
  std::string name;
  Relation relation = Relation::near;
  double measured = 0, expected = 0, tolerance = 0;

  bool passed() const;  // false for NaN
  // Whether passing says something: not where a number is only shown, nor where the tolerance is half of the expected
  // value or more. Being off by more than that still fails.
  bool judged() const;
};

// At least one comparison was judged and none failed.
bool all_pass(const std::vector<Comparison>& comparisons);
// At least one comparison failed.
bool any_fails(const std::vector<Comparison>& comparisons);

class Check {
 public:
  Check(Reading reading, Effort effort, std::uint64_t seed) : reading_(reading), effort_(effort), random_(seed) {}

  // ---- What the experiment asks ----

  Random& random() { return random_; }
  bool thorough() const { return effort_ == Effort::thorough; }
  // How many draws, lengths, ...
  std::int64_t effort(std::int64_t quick, std::int64_t thorough_) const { return thorough() ? thorough_ : quick; }
  // The corrected form or the printed one; the condition kept or dropped.
  template <class T>
  T choose(T sound, T printed) const {
    return reading_ == Reading::sound ? sound : printed;
  }

  // ---- What it found ----

  void near(const std::string& name, double measured, double expected, double tolerance);
  // Within `errors` standard errors, plus what the formula itself may be off by.
  void near(const std::string& name, Estimate measured, double expected, double slack = 0, double errors = 5);
  void relative(const std::string& name, double measured, double expected, double share);
  // A quoted number that is the mean of a few draws of the same law: within 5 standard errors of the fresh mean, 3 of
  // the quoted one, and the digits left out of it.
  void as_quoted(const std::string& name, const Mean& fresh, double quoted, std::int64_t quoted_draws,
                 double rounding = 0);
  // The same where the quoted number's standard error is known.
  void as_quoted(const std::string& name, Estimate fresh, double quoted, double quoted_error);
  void at_most(const std::string& name, double measured, double bound, double tolerance = 0);
  void at_least(const std::string& name, double measured, double bound, double tolerance = 0);
  // low <= measured <= high
  void between(const std::string& name, double measured, double low, double high);
  void finite(const std::string& name, double measured);
  // The number of times something happened; expected: none.
  void never(const std::string& name, std::int64_t times) { near(name, static_cast<double>(times), 0, 0); }
  // A number worth seeing that is not judged.
  void show(const std::string& name, double value);
  // A curve worth seeing.
  void plot(report::Plot plot) { plots_.push_back(std::move(plot)); }

  const std::vector<Comparison>& comparisons() const { return comparisons_; }
  const std::vector<report::Plot>& plots() const { return plots_; }

 private:
  Reading reading_;
  Effort effort_;
  Random random_;
  std::vector<Comparison> comparisons_;
  std::vector<report::Plot> plots_;
};

using CheckFunction = void (*)(Check&);

}  // namespace isentropic::ledger
