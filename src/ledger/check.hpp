// A check: an experiment that measures with the library's own code and compares with a formula.
//
// It is written once and run in two readings. The sound reading judges the corrected form, or the claim under its
// condition, and must pass. The printed reading judges what the source printed, or the claim without its condition, and
// must fail. Both readings use the same random numbers; only choose() distinguishes them:
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

// Claims may use the closed forms, the estimators and the experiments' shared tools without qualification.
using namespace experiments::tools;
using namespace information;
using namespace theory;

// Formats a number for the name of a comparison: at most six digits, "0.07".
std::string short_text(double x);

enum class Reading : std::uint8_t { sound, printed };
enum class Effort : std::uint8_t { quick, thorough };

enum class Relation : std::uint8_t {
  near,      // |measured - expected| <= tolerance
  at_most,   // measured <= expected + tolerance
  at_least,  // measured >= expected - tolerance
  between,   // the same as near, but stated as a range
  finite,    // measured is neither infinite nor NaN
  shown      // not judged
};

struct Comparison {
  std::string name;
  Relation relation = Relation::near;
  double measured = 0, expected = 0, tolerance = 0;

  bool passed() const;  // false for NaN
  // Whether passing is meaningful: not for a number that is only shown, nor if the tolerance is at least half of the
  // expected value. A larger deviation still fails.
  bool judged() const;
};

// At least one comparison was judged and none failed.
bool all_pass(const std::vector<Comparison>& comparisons);
// At least one comparison failed.
bool any_fails(const std::vector<Comparison>& comparisons);

class Check {
 public:
  Check(Reading reading, Effort effort, std::uint64_t seed) : reading_(reading), effort_(effort), random_(seed) {}

  // ---- Inputs of the experiment ----

  Random& random() { return random_; }
  bool thorough() const { return effort_ == Effort::thorough; }
  // How many draws, lengths, ...
  std::int64_t effort(std::int64_t quick, std::int64_t thorough_) const { return thorough() ? thorough_ : quick; }
  // The corrected or the printed form; the condition kept or dropped.
  template <class T>
  T choose(T sound, T printed) const {
    return reading_ == Reading::sound ? sound : printed;
  }

  // ---- Results of the experiment ----

  void near(const std::string& name, double measured, double expected, double tolerance);
  // Within `errors` standard errors, plus `slack` for the inexactness of the formula itself.
  void near(const std::string& name, Estimate measured, double expected, double slack = 0, double errors = 5);
  void relative(const std::string& name, double measured, double expected, double share);
  // A quoted number that is the mean of a few draws from the same law: within 5 standard errors of the fresh mean, 3 of
  // the quoted one, and its rounding.
  void as_quoted(const std::string& name, const Mean& fresh, double quoted, std::int64_t quoted_draws,
                 double rounding = 0);
  // The same if the quoted number's standard error is known.
  void as_quoted(const std::string& name, Estimate fresh, double quoted, double quoted_error);
  void at_most(const std::string& name, double measured, double bound, double tolerance = 0);
  void at_least(const std::string& name, double measured, double bound, double tolerance = 0);
  // low <= measured <= high
  void between(const std::string& name, double measured, double low, double high);
  void finite(const std::string& name, double measured);
  // How often something happened that must never happen.
  void never(const std::string& name, std::int64_t times) { near(name, static_cast<double>(times), 0, 0); }
  // Shows a number without judging it.
  void show(const std::string& name, double value);
  // Shows a curve.
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
