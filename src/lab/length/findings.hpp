// Results of a length study, ready to be shown: one line per law, means over its seeds, differences paired by seed.
#pragma once

#include <string>
#include <vector>

#include "lab/length/study.hpp"
#include "lab/paired.hpp"

namespace isentropic::lab::length {

struct LawLine {
  std::string law, formula;
  double learning_rate = 0;
  int seeds = 0;
  std::vector<Point> points = {};  // by length, means over seeds
  double beyond = 0;               // the mean loss beyond the trained length
  Paired against_usual = {};       // that, minus that of 1/sqrt d
  Paired against_window = {};      // minus that of the control
  Paired against_own = {};         // minus the loss of the same networks at the trained length
  // By length, the loss minus that of 1/sqrt d with the same seeds: losses of laws with other seeds are not comparable.
  std::vector<double> gaps = {};
  double slope = 0;     // of the entropy against log n, from the trained length on; least squares
  double variance = 0;  // of the entropy over those lengths
  double steps = 0;     // to within 0.05 nats of the final loss of 1/sqrt d with the same seed; 0: some seed never
  double spikes = 0;
  std::vector<double> learnt = {};  // by layer, if the law learns a parameter: means over heads and seeds
};

struct RegularisedLine {
  std::string law;
  double dropout = 0, decay = 0, validation = 0, beyond = 0;
};

struct Findings {
  std::string positions;
  std::vector<LawLine> laws;  // the best compared with 1/sqrt d first
  std::vector<RegularisedLine> regularised;
  std::string conclusion;              // in words, laws by their names
  std::string conclusion_in_formulas;  // the same for a page, which typesets formulas
};

// One per position encoding.
std::vector<Findings> findings_of(const Study& study, const std::vector<Result>& results);

// "cuda in bfloat16".
std::string precision_of(const Result& result);
// A sentence if networks were trained in several precisions and so are not comparable; otherwise empty.
std::string mixed_precision(const std::vector<Result>& results);

}  // namespace isentropic::lab::length
