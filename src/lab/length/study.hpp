// The length study: language models trained at one length under every scale law, and evaluated at up to 16 times that.
//
// The metric by which laws are compared, chosen before any run: the loss, in nats, of the same last `scored` tokens
// inside one document, given the n + 1 - scored tokens before them, at n = length times each factor. Laws are ranked by
// its mean over the factors above 1. Everything else (entropy, copying, steps to a loss, spikes) is explanatory.
//
// Three stages, each determined by the one before (plan.hpp):
//   screen       every law, one seed, every learning rate; a law keeps the rate with the lowest loss at n = length
//   confirm      1/sqrt d, log n/d and the best others, the remaining seeds; differences are paired by seed
//   regularise   the best two with other attention dropout and weight decay
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/study_folder.hpp"

namespace isentropic::lab::length {

struct Study {
  std::vector<std::string> texts = {};  // files, or folders whose files are documents
  std::vector<std::string> laws = {};   // of laws.hpp; empty: all
  std::vector<std::string> positions = {"none", "rotary"};
  std::vector<double> learning_rates = {1e-3, 2e-3, 4e-3};
  std::int64_t seeds = 5, best = 4;
  std::int64_t vocabulary = 4096, layers = 6, heads = 4, width = 256;
  std::int64_t steps = 1400, batch = 64, length = 512, scored = 256;
  std::vector<double> factors = {0.5, 1, 2, 4, 8, 16};  // multiples of the length
  std::int64_t training_tokens = 12'000'000;            // maximum number to read
  std::int64_t documents = 64;                          // to test on, and as many to tune the rate on
  double max_epochs = 4;
  double target_entropy = 2;  // nats, for the law target_entropy
  double weight_decay = 0.1, attention_dropout = 0;
  std::vector<double> attention_dropout_sweep = {0, 0.1}, weight_decay_sweep = {0.1, 0.01};  // in the last stage
  std::uint64_t seed = 1;
  std::string device = "cpu";
  bool bfloat16 = false;

  std::vector<std::int64_t> lengths() const;  // tokens of the tests, by factor
  std::int64_t longest() const;               // tokens of the longest test
};

// Throws Error if the study is invalid, before anything is read.
void check_study(const Study& study);
nlohmann::ordered_json options_of(const Study& study);
Study study_of(const nlohmann::ordered_json& options);

// One network to train.
struct Run {
  std::string stage, law, positions;
  double learning_rate = 0;
  std::uint64_t seed = 0;
  double attention_dropout = 0, weight_decay = 0;

  bool operator==(const Run&) const = default;
};

// Measurements of a network at one input length, under one law.
struct Point {
  std::int64_t n = 0;
  double loss = 0;       // of the last tokens, nats
  double entropy = 0;    // of their rows, the mean over layers, heads and documents
  double deviation = 0;  // of that entropy over layers and heads
  double copying = 0;    // loss saved on a passage that occurred before, nats per token
};

struct Tested {
  std::string law;  // the network's own, or one that uses its networks as they are
  std::vector<Point> points;
};

struct Result {
  Run run = {};
  bool diverged = false;  // a loss or a gradient was not finite: there are no measurements
  double validation = 0;  // loss at the trained length, on documents that no test uses
  std::vector<std::pair<std::int64_t, double>> curve = {};  // the same by step, over fewer windows
  std::int64_t spikes = 0;  // steps whose gradient norm is above three times the median of the hundred before
  double seconds = 0;
  std::vector<double> learnt = {};  // by layer, mean over heads of the law's parameter, if it is learnt
  std::vector<Tested> tests = {};
  std::vector<std::string> not_finite = {};  // laws without a test, because one of its values was not finite
  std::string device = {};                   // of training, "cpu" or "cuda"; empty: logged before this was recorded
  bool bfloat16 = false;                     // whether products were in bfloat16
};

// What is kept of a diverged network.
Result as_diverged(const Result& result);
// Removes the tests with values that are not finite, which JSON cannot represent. The result is diverged if a loss at
// the trained length, a learnt value or the test of its own law is not finite.
Result finite_part(Result result);
nlohmann::ordered_json json_of(const Result& result);
Result result_of(const nlohmann::ordered_json& json);

// Empty if it was stopped and can be resumed. The folder must hold documents (documents.hpp). The study must be the
// folder's, except for the device and its precision, which may change when it is resumed. Several processes may run the
// same study in the same folder: they share the networks of each stage.
std::optional<std::vector<Result>> run_study(StudyFolder& folder, const Study& study, const StudyCallbacks& callbacks);

// Tables for the terminal, a page, a figure, and everything as JSON.
std::string text_table(const Study& study, const std::vector<Result>& results);
std::string page(const Study& study, const std::vector<Result>& results);
std::string picture(const Study& study, const std::vector<Result>& results);
nlohmann::ordered_json results_of(const Study& study, const std::vector<Result>& results);

}  // namespace isentropic::lab::length
