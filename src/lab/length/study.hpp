// The length study: language models trained at one length under every scale law, and asked at up to 16 times as much.
//
// The measure by which laws are compared, chosen before anything was run: the loss, in nats, of the same last `scored`
// tokens inside one document, given the n - scored tokens before them, at n = length times each factor. Laws are
// ranked by its mean over the factors above 1. Everything else (entropy, copying, steps to a loss, spikes) explains.
//
// Three stages, each decided by the one before (plan.hpp):
//   screen       every law, one seed, every learning rate; a law keeps the rate with the least loss at n = length
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
  std::vector<std::string> laws = {};   // of laws.hpp; none: all
  std::vector<std::string> positions = {"none", "rotary"};
  std::vector<double> learning_rates = {1e-3, 2e-3, 4e-3};
  std::int64_t seeds = 5, best = 4;
  std::int64_t vocabulary = 4096, layers = 6, heads = 4, width = 256;
  std::int64_t steps = 1400, batch = 64, length = 512, scored = 256;
  std::vector<double> factors = {0.5, 1, 2, 4, 8, 16};  // of the length
  std::int64_t training_tokens = 12'000'000;            // at most so many are read
  std::int64_t documents = 64;                          // to test with, and as many to tune the rate with
  double max_epochs = 4;
  double target_entropy = 2;  // nats, of the law that solves for one
  double weight_decay = 0.1, attention_dropout = 0;
  std::vector<double> attention_dropout_sweep = {0, 0.1}, weight_decay_sweep = {0.1, 0.01};  // of the last stage
  std::uint64_t seed = 1;
  std::string device = "cpu";
  bool bfloat16 = false;

  std::int64_t longest() const;  // tokens of a test
};

// Throws Error for what cannot be run, before anything is read.
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

// A network at one length of its input, under one law.
struct Point {
  std::int64_t n = 0;
  double loss = 0;       // of the last tokens, nats
  double entropy = 0;    // of their rows, the mean over layers, heads and documents
  double deviation = 0;  // of that entropy over layers and heads
  double copying = 0;    // nats that a passage, seen once before, saves when it comes again
};

struct Tested {
  std::string law;  // its own, or one that takes its networks as they are
  std::vector<Point> points;
};

struct Result {
  Run run = {};
  bool diverged = false;  // a loss or a gradient was not finite: there are no numbers
  double validation = 0;  // loss at the trained length, on documents that no test uses
  std::vector<std::pair<std::int64_t, double>> curve = {};  // the same by step
  std::int64_t spikes = 0;  // steps whose gradient is above three times the median of the hundred before
  double seconds = 0;
  std::vector<double> learnt = {};  // mean of the law's number over the heads of each layer, where it is learnt
  std::vector<Tested> tests = {};
  std::vector<std::string> not_finite = {};  // laws that have no test, because one of its numbers was not finite
  std::string device = {};  // of training, "cpu" or "cuda"; empty: the line is from before this was kept
  bool bfloat16 = false;    // whether products were
};

// What is kept of a network that diverged.
Result as_diverged(const Result& result);
// JSON knows no number that is not finite: without the tests that hold one; diverged where a loss at the trained length
// is one, or where its own law's test holds one.
Result finite_part(Result result);
nlohmann::ordered_json json_of(const Result& result);
Result result_of(const nlohmann::ordered_json& json);

// None: it was stopped, and can go on. The folder must hold documents (documents.hpp). The study is the folder's, but
// for the device and its precision, which may change on the way. Several processes may run the same study in the same
// folder: they share the networks of each stage.
std::optional<std::vector<Result>> run_study(StudyFolder& folder, const Study& study, const StudyCallbacks& callbacks);

// A table for a terminal, a page, a picture, and everything as JSON.
std::string text_table(const Study& study, const std::vector<Result>& results);
std::string page(const Study& study, const std::vector<Result>& results);
std::string picture(const Study& study, const std::vector<Result>& results);
nlohmann::ordered_json results_of(const Study& study, const std::vector<Result>& results);

}  // namespace isentropic::lab::length
