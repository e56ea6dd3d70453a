// What a length study trains next, and how it interprets its results so far.
#include "lab/length/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "lab/length/findings.hpp"

namespace isentropic::lab::length {
namespace {

Study small_study() {
  Study out;
  out.laws = {"inverse_sqrt_d", "log_n", "sqrt_log_n", "ssmax", "trained_length", "window"};
  out.positions = {"rotary"};
  out.learning_rates = {1e-3, 2e-3};
  out.seeds = 3, out.best = 1;
  out.factors = {1, 2};
  out.attention_dropout_sweep = {0, 0.1}, out.weight_decay_sweep = {0.1};
  return out;
}

// Each law's loss beyond the trained length. The first rate is the better one for all but ssmax, and sqrt_log_n is good
// only with the first seed.
Result result_for(const Study& study, const Run& run) {
  const std::map<std::string, double> beyond = {{"inverse_sqrt_d", 3.0}, {"log_n", 2.9},          {"sqrt_log_n", 2.7},
                                                {"ssmax", 2.8},          {"trained_length", 2.6}, {"window", 2.0}};
  Result out{.run = run};
  const bool is_better = (run.learning_rate == study.learning_rates.front()) == (run.law != "ssmax");
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

// A stage's runs are trained in order or in reverse, as may happen when several processes share it.
enum class Order : std::uint8_t { planned, reversed };

std::vector<Result> run_all(
    const Study& study, Order order = Order::planned,
    const std::function<bool(const Run&)>& diverges = [](const Run&) { return false; }) {
  std::vector<Result> results;
  for (;;) {
    const std::vector<Run> runs = next_runs(study, results);
    if (runs.empty() || results.size() > 100) return results;
    const Run& run = order == Order::planned ? runs.front() : runs.back();
    results.push_back(diverges(run) ? as_diverged({.run = run}) : result_for(study, run));
  }
}

TEST(LengthPlan, ScreensThenConfirmsThenRegularises) {
  const Study study = small_study();
  const std::vector<Result> results = run_all(study);
  std::map<std::string, std::vector<std::string>> by_stage;
  for (const Result& result : results) by_stage[result.run.stage].push_back(result.run.law);
  EXPECT_EQ(by_stage.at(kScreen).size(), 4u * 2);  // four laws train networks, two rates
  // trained_length is the best other law: it uses the networks of 1/sqrt d, which are confirmed anyway.
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
  for (const Result& result : results) {
    if (result.run.stage == kRegularise) {
      EXPECT_NE(result.run.law, "sqrt_log_n");
    }
  }
}

TEST(LengthPlan, IsTheSameInWhateverOrderAStageIsTrained) {
  const Study study = small_study();
  const std::vector<Result> planned = run_all(study), reversed = run_all(study, Order::reversed);
  EXPECT_EQ(planned.size(), reversed.size());
  for (const Result& result : reversed)
    EXPECT_NE(std::ranges::find(planned, result.run, &Result::run), planned.end()) << result.run.law;
}

TEST(LengthPlan, CountsOtherRegularisationThatTheUsualIsNotAmong) {
  Study study = small_study();
  study.attention_dropout_sweep = {0.1};
  const std::vector<Result> results = run_all(study);
  EXPECT_EQ(std::ranges::count(results, kRegularise, [](const Result& x) { return x.run.stage; }), 2);
  EXPECT_EQ(std::ssize(results), most_runs(study) - 2);  // the best other law uses the networks of 1/sqrt d
  study.weight_decay_sweep = {};
  EXPECT_EQ(std::ssize(run_all(study)), most_runs(study) - 2);
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
  EXPECT_NEAR(line("trained_length").against_usual.mean, -0.4, 1e-12);  // a seed's shift cancels in the difference
  EXPECT_NEAR(line("trained_length").gaps.back(), -0.4, 1e-12);
  EXPECT_EQ(line("trained_length").gaps.front(), 0);
  EXPECT_TRUE(line("trained_length").against_usual.beyond_spread());
  EXPECT_EQ(line("log_n").steps, 200);         // the first loss within 0.05 of the last one of 1/sqrt d
  EXPECT_EQ(line("trained_length").steps, 0);  // trains nothing
  EXPECT_NEAR(line("log_n").against_window.mean, 0.9, 1e-12);
  EXPECT_FALSE(line("ssmax").against_usual.beyond_spread());  // only one seed
  EXPECT_NE(found[0].conclusion.find("spread over seeds: trained_length, log_n."), std::string::npos)
      << found[0].conclusion;
  EXPECT_NEAR(line("window").against_own.mean, 0.2 + 0.001 * 2 / 3, 1e-9);  // 2.0 + shift, minus 2
  EXPECT_NE(found[0].conclusion.find("or as a window: none."), std::string::npos) << found[0].conclusion;
  EXPECT_NE(found[0].conclusion_in_formulas.find("log n/d"), std::string::npos) << found[0].conclusion_in_formulas;
}

TEST(LengthFindings, NameWhatGainsFromTextBeyondTheTrainedLength) {
  const Study study = small_study();
  std::vector<Result> results = run_all(study);
  for (Result& result : results)  // 1.5 beyond the trained length: less than a window's 2, and the 2 at that length
    for (Tested& tested : result.tests)
      if (tested.law == "trained_length") tested.points.back().loss -= 1.1;
  const std::string conclusion = findings_of(study, results)[0].conclusion;
  EXPECT_NE(conclusion.find("or as a window: trained_length."), std::string::npos) << conclusion;
}

// A law whose networks diverge at any rate: the study still ends, and omits comparisons that cannot be made.
TEST(LengthFindings, LeaveOutComparisonsWithWhatDiverged) {
  const Study study = small_study();
  const auto findings_without = [&](const std::string& law) {
    const std::vector<Result> results =
        run_all(study, Order::planned, [&](const length::Run& run) { return run.law == law; });
    EXPECT_FALSE(page(study, results).empty());
    EXPECT_EQ(picture(study, results).find("nan"), std::string::npos);
    EXPECT_EQ(text_table(study, results).find("nan"), std::string::npos);
    return findings_of(study, results)[0];
  };
  const Findings found = findings_without("log_n");
  EXPECT_EQ(std::ranges::find(found.laws, "log_n", &LawLine::law), found.laws.end());
  EXPECT_TRUE(found.conclusion.ends_with(
      ". Diverged: log_n (learning rate 0.001, seed 1), log_n (learning rate 0.002, seed 1)."))
      << found.conclusion;
  // Without 1/sqrt d there is no window either: nothing can be compared.
  const Findings nothing = findings_without("inverse_sqrt_d");
  EXPECT_EQ(nothing.laws.size(), 3u);
  EXPECT_EQ(nothing.conclusion,
            "Diverged: inverse_sqrt_d (learning rate 0.001, seed 1), inverse_sqrt_d (learning rate 0.002, seed 1).");
}

TEST(LengthFindings, NameWhatDivergedInLaterStages) {
  const Study study = small_study();
  const std::vector<Result> results = run_all(study, Order::planned, [](const length::Run& run) {
    return run.stage == kRegularise || (run.law == "log_n" && run.seed == 2);
  });
  const Findings found = findings_of(study, results)[0];
  EXPECT_EQ(std::ranges::find(found.laws, "log_n", &LawLine::law)->seeds, 2);
  EXPECT_TRUE(found.regularised.empty());
  EXPECT_TRUE(
      found.conclusion.ends_with("Diverged: log_n (learning rate 0.001, seed 2), "
                                 "inverse_sqrt_d (learning rate 0.001, seed 1, dropout 0.1, weight decay 0.1)."))
      << found.conclusion;
}

TEST(LengthFindings, SayWhenNetworksWereTrainedInSeveralPrecisions) {
  const Study study = small_study();
  std::vector<Result> results = run_all(study);
  EXPECT_EQ(mixed_precision(results), "");  // lines from before precision was recorded
  for (Result& result : results) result.device = "cuda", result.bfloat16 = true;
  EXPECT_EQ(mixed_precision(results), "");
  results.back().bfloat16 = false;
  const std::string sentence = "Networks were trained in different precisions: " + std::to_string(results.size() - 1) +
                               " on cuda in bfloat16, 1 on cuda in float32.";
  EXPECT_EQ(mixed_precision(results), sentence);
  EXPECT_NE(text_table(study, results).find(sentence), std::string::npos);
  EXPECT_NE(page(study, results).find(sentence), std::string::npos);
}

TEST(LengthResults, AreTheSameAfterALine) {
  const Study study = small_study();
  Result one = result_for(study, next_runs(study, {}).front());
  const auto earlier = json_of(one);  // from before device and precision were recorded
  EXPECT_FALSE(earlier.contains("device"));
  EXPECT_EQ(json_of(result_of(earlier)), earlier);
  one.device = "cuda", one.bfloat16 = true, one.not_finite = {"adaptive"};
  const Result again = result_of(json_of(one));
  EXPECT_EQ(again.run, one.run);
  EXPECT_EQ(again.tests.front().points.back().loss, one.tests.front().points.back().loss);
  EXPECT_EQ(json_of(again), json_of(one));
  EXPECT_EQ(json_of(result_of(json_of(as_diverged(one)))), json_of(as_diverged(one)));
  EXPECT_EQ(study_of(options_of(study)).laws, study.laws);
}

// A non-finite test invalidates only its law; a network without a finite loss at the trained length, or in its own
// test, is discarded.
TEST(LengthResults, LeaveOutTestsThatAreNotFinite) {
  const Study study = small_study();
  const Result finite = result_for(study, next_runs(study, {}).front());
  ASSERT_EQ(finite.tests.size(), 3u);  // 1/sqrt d, trained_length and window
  EXPECT_EQ(json_of(finite_part(finite)), json_of(finite));
  Result other = finite;
  other.tests[1].points[1].entropy = std::nan("");
  const Result kept = finite_part(other);
  EXPECT_FALSE(kept.diverged);
  EXPECT_EQ(kept.tests.size(), 2u);
  EXPECT_EQ(kept.not_finite, std::vector<std::string>{"trained_length"});
  EXPECT_NE(findings_of(study, {kept})[0].conclusion.find(
                "Not finite when evaluated: trained_length (learning rate 0.001, seed 1)."),
            std::string::npos);
  Result own = finite, untrained = finite;
  own.tests[0].points[0].loss = INFINITY;
  untrained.validation = std::nan("");
  for (const Result& lost : {own, untrained}) EXPECT_TRUE(finite_part(lost).diverged);
}

TEST(LengthLaws, KnowWhatTheyTrainAndAsk) {
  Study study = small_study();
  study.laws = {"adaptive", "yarn", "info_cosine"};
  const std::vector<Law> laws = laws_of(study);
  EXPECT_EQ(laws.size(), 5u);  // plus inverse_sqrt_d and cosine, whose networks they use
  const model::Description trained = describe(study, laws.front(), "rotary", 1000);
  const model::Description stretched = for_evaluation(trained, study, law_named(laws, "yarn"), 2048);
  EXPECT_EQ(stretched.rotary.front().factor, 4);
  EXPECT_EQ(for_evaluation(trained, study, law_named(laws, "yarn"), 512).rotary.front().scaling,
            model::Rotary::Scaling::none);
  EXPECT_FALSE(law_named(laws, "yarn").fits("none"));
}

}  // namespace
}  // namespace isentropic::lab::length
