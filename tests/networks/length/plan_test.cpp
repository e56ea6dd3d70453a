// What a length study trains next, and how it reads what it has.
#include "lab/length/plan.hpp"

#include <gtest/gtest.h>

#include "lab/length/findings.hpp"

namespace isentropic::lab::length {
namespace {

Study small_study() {
  Study out;
  out.laws = {"inverse_sqrt_d", "log_n", "sqrt_log_n", "ssmax", "trained_length", "window"};
  out.positions = {"rotary"};
  out.rates = {1e-3, 2e-3};
  out.seeds = 3, out.best = 1;
  out.factors = {1, 2};
  out.dropouts = {0, 0.1}, out.decays = {0.1};
  return out;
}

// A loss beyond the trained length for each law; the first rate is the better one for all but ssmax, and sqrt_log_n is
// good from the first seed alone.
Result result_for(const Study& study, const Run& run) {
  const std::map<std::string, double> beyond = {{"inverse_sqrt_d", 3.0}, {"log_n", 2.9},          {"sqrt_log_n", 2.7},
                                                {"ssmax", 2.8},          {"trained_length", 2.6}, {"window", 2.0}};
  Result out{.run = run};
  const bool is_better = (run.rate == study.rates.front()) == (run.law != "ssmax");
  out.validation = is_better ? 2.0 : 2.1;
  out.curve = {{100, 2.2}, {200, 2.04}, {300, 2.0}};
  const double shift =
      0.1 * static_cast<double>(run.seed) + 0.001 * static_cast<double>(run.seed % 2) + (is_better ? 0 : 5);
  for (const Law& law : laws_of(study)) {
    if (law.trained_as() != run.law) continue;
    const double later = law.name == "sqrt_log_n" && run.seed > study.seed ? 0.5 : 0;
    out.tests.push_back({law.name, {{.n = 512, .loss = 2}, {.n = 1024, .loss = beyond.at(law.name) + shift + later}}});
  }
  return out;
}

// What a stage wants is trained in its order or from its end, as processes that share it may do.
enum class Order : std::uint8_t { planned, reversed };

std::vector<Result> run_all(const Study& study, Order order = Order::planned) {
  std::vector<Result> results;
  for (;;) {
    const std::vector<Run> runs = next_runs(study, results);
    if (runs.empty() || results.size() > 100) return results;
    results.push_back(result_for(study, order == Order::planned ? runs.front() : runs.back()));
  }
}

TEST(LengthPlan, ScreensThenConfirmsThenRegularises) {
  const Study study = small_study();
  const std::vector<Result> results = run_all(study);
  std::map<std::string, std::vector<std::string>> by_stage;
  for (const Result& result : results) by_stage[result.run.stage].push_back(result.run.law);
  EXPECT_EQ(by_stage.at(kScreen).size(), 4u * 2);  // four laws train networks, two rates
  // trained_length is the best other law: it takes the networks of 1/sqrt d, which are confirmed anyway.
  EXPECT_EQ(by_stage.at(kConfirm), (std::vector<std::string>{"inverse_sqrt_d", "log_n", "inverse_sqrt_d", "log_n"}));
  EXPECT_EQ(by_stage.at(kRegularise), (std::vector<std::string>{"inverse_sqrt_d", "log_n"}));
  EXPECT_LE(static_cast<std::int64_t>(results.size()), most_runs(study));
}

TEST(LengthPlan, RegularisesWhatIsBestOverAllSeeds) {
  Study study = small_study();
  study.best = 2;
  const std::vector<Result> results = run_all(study);
  EXPECT_EQ(ranking(study, results, "rotary", 1)[1], "sqrt_log_n");
  EXPECT_EQ(ranking(study, results, "rotary", 3),
            (std::vector<std::string>{"trained_length", "log_n", "inverse_sqrt_d", "sqrt_log_n"}));
  for (const Result& result : results)
    if (result.run.stage == kRegularise) EXPECT_NE(result.run.law, "sqrt_log_n");
}

TEST(LengthPlan, IsTheSameInWhateverOrderAStageIsTrained) {
  const Study study = small_study();
  const std::vector<Result> planned = run_all(study), reversed = run_all(study, Order::reversed);
  EXPECT_EQ(planned.size(), reversed.size());
  for (const Result& result : reversed)
    EXPECT_NE(std::ranges::find(planned, result.run, &Result::run), planned.end()) << result.run.law;
}

TEST(LengthPlan, KeepsTheRateWithTheLeastLossAtTheTrainedLength) {
  const Study study = small_study();
  const std::vector<Result> results = run_all(study);
  EXPECT_EQ(tuned_rate(study, results, "ssmax", "rotary"), 2e-3);
  EXPECT_EQ(tuned_rate(study, results, "log_n", "rotary"), 1e-3);
  EXPECT_EQ(tuned_rate(study, results, "log_n", "none"), std::nullopt);
  EXPECT_EQ(ranking(study, results, "rotary", 1),
            (std::vector<std::string>{"trained_length", "sqrt_log_n", "ssmax", "log_n", "inverse_sqrt_d"}));
  EXPECT_EQ(outcomes(study, results, "trained_length", "rotary").size(), 3u);
  EXPECT_EQ(outcomes(study, results, "ssmax", "rotary").size(), 1u);
}

TEST(LengthFindings, PairDifferencesBySeed) {
  const Study study = small_study();
  const std::vector<Findings> found = findings_of(study, run_all(study));
  ASSERT_EQ(found.size(), 1u);
  const auto line = [&](const char* law) { return *std::ranges::find(found[0].laws, law, &LawLine::law); };
  EXPECT_EQ(found[0].laws.front().law, "window");
  EXPECT_EQ(line("trained_length").seeds, 3);
  EXPECT_NEAR(line("trained_length").against_usual.mean, -0.4, 1e-12);  // the shift of a seed is in both
  EXPECT_NEAR(line("trained_length").gaps.back(), -0.4, 1e-12);
  EXPECT_EQ(line("trained_length").gaps.front(), 0);
  EXPECT_TRUE(line("trained_length").against_usual.beyond_spread());
  EXPECT_EQ(line("log_n").steps, 200);         // the first loss within 0.05 of the last of 1/sqrt d
  EXPECT_EQ(line("trained_length").steps, 0);  // trains nothing
  EXPECT_NEAR(line("log_n").against_window.mean, 0.9, 1e-12);
  EXPECT_FALSE(line("ssmax").against_usual.beyond_spread());  // one seed
  EXPECT_NE(found[0].conclusion.find("spread over seeds: trained_length, log_n."), std::string::npos)
      << found[0].conclusion;
  EXPECT_NEAR(line("window").against_own.mean, 0.2 + 0.001 * 2 / 3, 1e-9);  // 2.0 + shift, less 2
  EXPECT_NE(found[0].conclusion.find("or as a window: none."), std::string::npos) << found[0].conclusion;
  EXPECT_NE(found[0].conclusion_in_formulas.find("log n/d"), std::string::npos) << found[0].conclusion_in_formulas;
}

TEST(LengthFindings, NameWhatGainsFromTextBeyondTheTrainedLength) {
  const Study study = small_study();
  std::vector<Result> results = run_all(study);
  for (Result& result : results)  // 1.5 beyond the trained length, less than a window's 2 and the 2 at that length
    for (Tested& tested : result.tests)
      if (tested.law == "trained_length") tested.points.back().loss -= 1.1;
  const std::string conclusion = findings_of(study, results)[0].conclusion;
  EXPECT_NE(conclusion.find("or as a window: trained_length."), std::string::npos) << conclusion;
}

TEST(LengthResults, AreTheSameAfterALine) {
  const Study study = small_study();
  const Result one = result_for(study, next_runs(study, {}).front());
  const Result again = result_of(json_of(one));
  EXPECT_EQ(again.run, one.run);
  EXPECT_EQ(again.tests.front().points.back().loss, one.tests.front().points.back().loss);
  EXPECT_EQ(study_of(options_of(study)).laws, study.laws);
}

TEST(LengthLaws, KnowWhatTheyTrainAndAsk) {
  Study study = small_study();
  study.laws = {"adaptive", "yarn", "info_cosine"};
  const std::vector<Law> laws = laws_of(study);
  EXPECT_EQ(laws.size(), 5u);  // and inverse_sqrt_d and cosine, whose networks they take
  const model::Description trained = describe(study, laws.front(), "rotary", 1000);
  const model::Description stretched = asked(trained, study, law_named(laws, "yarn"), 2048);
  EXPECT_EQ(stretched.rotary.front().factor, 4);
  EXPECT_EQ(asked(trained, study, law_named(laws, "yarn"), 512).rotary.front().scaling, model::Rotary::Scaling::none);
  EXPECT_FALSE(law_named(laws, "yarn").fits("none"));
}

}  // namespace
}  // namespace isentropic::lab::length
