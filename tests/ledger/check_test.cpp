// The judge itself: what passes, what fails, and that nothing passes by being absent or NaN.
#include "ledger/check.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "ledger/present.hpp"
#include "ledger/run.hpp"

namespace isentropic::ledger {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

Check judged(void (*judge)(Check&)) {
  Check check(Reading::sound, Effort::quick, 1);
  judge(check);
  return check;
}
bool passes(void (*judge)(Check&)) { return all_pass(judged(judge).comparisons()); }

TEST(Comparison, NearMeansWithinTheTolerance) {
  EXPECT_TRUE(passes([](Check& c) { c.near("x", 1.05, 1, 0.05 + 1e-12); }));
  EXPECT_FALSE(passes([](Check& c) { c.near("x", 1.06, 1, 0.05); }));
  EXPECT_TRUE(passes([](Check& c) { c.near("x", kInf, kInf, 0); }));
  EXPECT_FALSE(passes([](Check& c) { c.near("x", kInf, -kInf, 1); }));
  EXPECT_TRUE(passes([](Check& c) { c.relative("x", 104, 100, 0.05); }));
  EXPECT_FALSE(passes([](Check& c) { c.relative("x", 106, 100, 0.05); }));
  EXPECT_TRUE(passes([](Check& c) { c.near("x", Estimate{10.4, 0.1}, 10); }));
  EXPECT_FALSE(passes([](Check& c) { c.near("x", Estimate{10.6, 0.1}, 10); }));
}

// Draws 100 and 102: mean 101, standard error 1, deviation sqrt(2). Four quoted draws: 5 + 3 sqrt(2) / 2 = 7.12.
TEST(Comparison, AQuotedMeanHasAnErrorOfItsOwn) {
  const auto draws = [] {
    Mean out;
    out.add(100), out.add(102);
    return out;
  };
  static const Mean fresh = draws();
  EXPECT_TRUE(passes([](Check& c) { c.as_quoted("x", fresh, 108.1, 4); }));
  EXPECT_FALSE(passes([](Check& c) { c.as_quoted("x", fresh, 108.2, 4); }));
  EXPECT_TRUE(passes([](Check& c) { c.as_quoted("x", fresh, 108.2, 4, .1); }));
  // With the quoted number's own error given: 5 + 3 / 10 = 5.3.
  EXPECT_TRUE(passes([](Check& c) { c.as_quoted("x", fresh.estimate(), 106.25, .1); }));
  EXPECT_FALSE(passes([](Check& c) { c.as_quoted("x", fresh.estimate(), 106.35, .1); }));
}

TEST(Comparison, BoundsAndCounts) {
  EXPECT_TRUE(passes([](Check& c) { c.at_most("x", 1, 1); }));
  EXPECT_FALSE(passes([](Check& c) { c.at_most("x", 1.1, 1, 0.05); }));
  EXPECT_TRUE(passes([](Check& c) { c.at_least("x", 0.96, 1, 0.05); }));
  EXPECT_FALSE(passes([](Check& c) { c.at_least("x", 0.9, 1, 0.05); }));
  EXPECT_TRUE(passes([](Check& c) { c.between("x", 2, 1, 3); }));
  EXPECT_FALSE(passes([](Check& c) { c.between("x", 3.1, 1, 3); }));
  EXPECT_FALSE(passes([](Check& c) { c.between("x", 0.9, 1, 3); }));
  EXPECT_TRUE(passes([](Check& c) { c.finite("x", -1e300); }));
  EXPECT_FALSE(passes([](Check& c) { c.finite("x", kInf); }));
  EXPECT_TRUE(passes([](Check& c) { c.never("x", 0); }));
  EXPECT_FALSE(passes([](Check& c) { c.never("x", 1); }));
}

TEST(Comparison, NotANumberFails) {
  EXPECT_FALSE(passes([](Check& c) { c.near("x", kNan, 1, kInf); }));
  EXPECT_FALSE(passes([](Check& c) { c.near("x", 1, kNan, 1); }));
  EXPECT_FALSE(passes([](Check& c) { c.at_most("x", kNan, 1); }));
  EXPECT_FALSE(passes([](Check& c) { c.at_least("x", kNan, 1); }));
  EXPECT_FALSE(passes([](Check& c) { c.between("x", kNan, 0, 1); }));
  EXPECT_FALSE(passes([](Check& c) { c.finite("x", kNan); }));
}

TEST(Comparison, ACheckThatJudgesNothingFails) {
  EXPECT_FALSE(passes([](Check&) {}));
  EXPECT_FALSE(passes([](Check& c) { c.show("x", 1); }));
}

// With a tolerance of half the expected value or more, 1 +- 0.5, little but the sign is tested: it supports nothing.
TEST(Comparison, AToleranceOfHalfTheExpectedValueIsShownAndNotJudged) {
  EXPECT_FALSE(passes([](Check& c) { c.near("x", 1.2, 1, 0.5); }));
  EXPECT_FALSE(passes([](Check& c) { c.near("x", -1.2, -1, 0.5); }));
  EXPECT_TRUE(passes([](Check& c) { c.near("x", 1.2, 1, 0.49); }));
  EXPECT_TRUE(passes([](Check& c) { c.near("x", 1.2, 1, 0.5), c.near("y", 1, 1, 0.1); }));
  const Check check = judged([](Check& c) { c.near("x", 1.2, 1, 0.5), c.near("y", 1.2, 1, 0.4); });
  EXPECT_FALSE(check.comparisons()[0].judged());
  EXPECT_TRUE(check.comparisons()[1].judged());
  // Nothing can be half of 0: there the tolerance itself is the claim. Bounds and ranges state what they allow.
  EXPECT_TRUE(passes([](Check& c) { c.near("x", 1e-13, 0, 1e-12); }));
  EXPECT_TRUE(passes([](Check& c) { c.at_most("x", 1, 1, 2); }));
  EXPECT_TRUE(passes([](Check& c) { c.between("x", 2, 1, 4); }));
}

// A deviation that exceeds even a wide tolerance still refutes the claim.
TEST(Comparison, AWideToleranceCanRefute) {
  EXPECT_FALSE(passes([](Check& c) { c.near("x", 9, 1, 0.5), c.near("y", 1, 1, 0.1); }));
}

TEST(Present, AComparisonThatIsNotJudgedSaysSo) {
  const Claim claim = computed("999-1", Verdict::holds, "s", "",
                               [](Check& c) { c.near("wide", 1.2, 1, 0.5), c.near("sharp", 1, 1, 0.1); });
  const Outcome outcome = run_claims({claim}, {.threads = 1}).front();
  EXPECT_NE(details(outcome).find("wide = 1.2, expected 1 within 0.5, not judged"), std::string::npos);
  EXPECT_NE(line(outcome).find("sharp"), std::string::npos);
  EXPECT_EQ(line(outcome).find("wide"), std::string::npos);
  const auto entry = json({outcome}, {})["claims"][0];
  EXPECT_EQ(entry["measured"]["wide"]["judged"], false);
  EXPECT_EQ(entry["measured"]["sharp"]["judged"], true);
  EXPECT_EQ(entry["tolerance"], 0.1);
}

Claim claim_with(Verdict verdict, CheckFunction check) { return computed("999-1", verdict, "statement", "use", check); }
Outcome outcome_of(const Claim& claim) { return run_claims({claim}, {.threads = 1}).front(); }

TEST(Run, BothReadingsSeeTheSameNumbers) {
  const Claim claim =
      claim_with(Verdict::corrected, [](Check& c) { c.near("x", c.random().normal(), c.choose(0, 9), 8); });
  const Outcome outcome = outcome_of(claim);
  EXPECT_EQ(outcome.sound[0].measured, outcome.printed[0].measured);
  EXPECT_TRUE(outcome.passed());
  EXPECT_EQ(outcome.printed_form_fails(), true);
}

TEST(Run, ACorrectedClaimWhosePrintedFormPassesHasFailed) {
  const Outcome outcome = outcome_of(claim_with(Verdict::corrected, [](Check& c) { c.near("x", 1, 1, 0); }));
  EXPECT_TRUE(outcome.sound_passes());
  EXPECT_EQ(outcome.printed_form_fails(), false);
  EXPECT_FALSE(outcome.passed());
  // The same check under a claim that holds has no printed form.
  const Outcome holds = outcome_of(claim_with(Verdict::holds, [](Check& c) { c.near("x", 1, 1, 0); }));
  EXPECT_TRUE(holds.passed());
  EXPECT_FALSE(holds.printed_form_fails().has_value());
}

// A comparison that is not judged neither supports nor refutes.
TEST(Run, APrintedFormThatIsNeverJudgedHasNotFailed) {
  const Outcome outcome = outcome_of(
      claim_with(Verdict::corrected, [](Check& c) { c.near("x", 1.2, c.choose(1.2, 1.0), c.choose(0.1, 0.5)); }));
  EXPECT_TRUE(outcome.sound_passes());
  EXPECT_EQ(outcome.printed_form_fails(), false);
  EXPECT_FALSE(outcome.passed());
}

TEST(Run, AnExceptionIsAFailure) {
  const Outcome outcome = outcome_of(claim_with(Verdict::holds, [](Check& c) {
    c.near("x", 1, 1, 0);
    throw Error("broken");
  }));
  EXPECT_FALSE(outcome.passed());
  EXPECT_EQ(outcome.error, "broken");
  EXPECT_EQ(tally({outcome}).failed, 1);
  EXPECT_NE(line(outcome).find("FAILED"), std::string::npos);
}

TEST(Run, OutcomesComeInOrderAndDoNotDependOnThreads) {
  std::vector<Claim> claims;
  for (int x = 0; x < 20; ++x)
    claims.push_back(computed("999-" + std::to_string(x), Verdict::holds, "s", "",
                              [](Check& c) { c.near("x", c.random().normal(), 0, 10); }));
  std::vector<std::string> told;
  const auto one = run_claims(claims, {.seed = 3, .threads = 1});
  const auto four =
      run_claims(claims, {.seed = 3, .threads = 4}, [&](const Outcome& x) { told.push_back(x.claim.id); });
  ASSERT_EQ(told.size(), claims.size());
  for (std::size_t x = 0; x < claims.size(); ++x) {
    EXPECT_EQ(told[x], claims[x].id);
    EXPECT_EQ(one[x].sound[0].measured, four[x].sound[0].measured);
  }
  EXPECT_NE(one[0].sound[0].measured, one[1].sound[0].measured);  // claims do not share random numbers
  EXPECT_NE(one[0].sound[0].measured, run_claims(claims, {.seed = 4, .threads = 1})[0].sound[0].measured);
}

TEST(Present, ExpectationsReadAsAPersonWouldSayThem) {
  const Check check = judged([](Check& c) {
    c.near("x", 1, 0.5, 1), c.at_most("x", 1, 2), c.at_least("x", 1, 0.25), c.between("x", 6, 5, 7), c.finite("x", 1);
    c.show("x", 1);
  });
  std::vector<std::string> said;
  for (const Comparison& x : check.comparisons()) said.push_back(expectation(x));
  EXPECT_EQ(said, (std::vector<std::string>{"0.5", "at most 2", "at least 0.25", "5 to 7", "finite", ""}));
}

TEST(Present, JsonHasWhatProgramsNeed) {
  const Claim claim = claim_with(Verdict::corrected, [](Check& c) { c.near("bias", 1, c.choose(1.0, kInf), 0.25); });
  const auto document = json({outcome_of(claim)}, {.seed = 7});
  const auto& entry = document["claims"][0];
  EXPECT_EQ(entry["id"], "999-1");
  EXPECT_EQ(entry["statement"], "statement");
  EXPECT_EQ(entry["verdict"], "corrected");
  EXPECT_EQ(entry["passed"], true);
  EXPECT_EQ(entry["printed_form_fails"], true);
  EXPECT_EQ(entry["measured"]["bias"]["value"], 1.0);
  EXPECT_EQ(entry["measured"]["bias"]["printed"]["expected"], "inf");
  EXPECT_EQ(entry["tolerance"], 0.25);
  EXPECT_EQ(document["passed"], 1);
  EXPECT_EQ(document["failed"], 0);
  EXPECT_EQ(document["stored"], 0);
  EXPECT_EQ(document["pending"], 0);
  EXPECT_EQ(document["verdicts"], (nlohmann::json{{"corrected", 1}}));
  EXPECT_EQ(document["seed"], 7);
}

TEST(Present, PageHasACardForEachClaim) {
  const Outcome good = outcome_of(computed("001-999", Verdict::holds, "statement", "use", [](Check& c) {
    c.near("x", 1, 1, 0);
    c.near("vague", 1, 1, 0.5);
  }));
  const std::string text = page({good}, {});
  EXPECT_NE(text.find("001-999"), std::string::npos);
  EXPECT_NE(text.find("statement"), std::string::npos);
  EXPECT_NE(text.find("not judged"), std::string::npos);
}

}  // namespace
}  // namespace isentropic::ledger
