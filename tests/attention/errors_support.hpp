// A caller's mistake throws one Error before any work, naming the argument, its value and what was expected.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "isentropic/error.hpp"
#include "sweep.hpp"

namespace attention_test {

using isentropic::AttentionProblem;
using isentropic::Bias;
using isentropic::Error;
using isentropic::Mask;
using isentropic::PerHead;
using isentropic::Scale;
using isentropic::ScoreMap;
using isentropic::Statistic;
using isentropic::Statistics;
using isentropic::View;

inline const double kNumbers[4096] = {};
inline const float kFloats[4096] = {};
inline const bool kFlags[4096] = {};
inline const std::int64_t kIntegers[4096] = {};
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline View view(isentropic::Shape shape) { return View(kNumbers, std::move(shape)); }

inline AttentionProblem good() {
  return {.query = view({2, 4, 6, 3}), .key = view({2, 2, 5, 3}), .value = view({2, 2, 5, 7})};
}

// The message contains every one of the words: the argument, its value, and what was expected.
template <class Action>
void expect_error(Action action, std::vector<std::string> words) {
  words.push_back("expected");
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const std::string& word : words) {
      EXPECT_NE(message.find(word), std::string::npos) << "no \"" << word << "\" in: " << message;
    }
    EXPECT_EQ(message.find('\n'), std::string::npos) << "one line: " << message;
    return;
  } catch (const std::exception& error) {
    FAIL() << "not an Error: " << error.what();
  }
  FAIL() << "no error; expected one about " << words.front();
}

// Every pass rejects the problem.
template <class Change>
void refused(Change change, const std::vector<std::string>& words) {
  AttentionProblem problem = good();
  expect_error(
      [&] {
        change(problem);
        attention(problem);
      },
      words);
  problem = good();
  expect_error(
      [&] {
        change(problem);
        problem.statistics = problem.statistics.with(Statistic::visible);
        attention_statistics(problem);
      },
      words);
  problem = good();
  expect_error(
      [&] {
        change(problem);
        attention_weights(problem, {0});
      },
      words);
}

}  // namespace attention_test
