// What a length study found, ready to be shown: one line for each law, means over its seeds, differences paired by
// seed.
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
  double beyond = 0;               // the mean loss above the trained length
  Paired against_usual = {};       // that, less 1/sqrt d's
  Paired against_window = {};      // and less the control's
  Paired against_own = {};         // and less what the same networks lose at the trained length
  // By length, the loss less 1/sqrt d's: laws may have other seeds, so that their losses do not compare.
  std::vector<double> gaps = {};
  double slope = 0;     // of the entropy against log n, from the trained length on; least squares
  double variance = 0;  // of the entropy over those lengths
  double steps = 0;     // to the loss that 1/sqrt d ends with at that seed, and 0.05 nats; 0: some seed never
  double spikes = 0;
  std::vector<double> learnt = {};  // by layer, where the law learns a number: means over heads and seeds
};

struct RegularisedLine {
  std::string law;
  double dropout = 0, decay = 0, validation = 0, beyond = 0;
};

struct Findings {
  std::string positions;
  std::vector<LawLine> laws;  // the best against 1/sqrt d first
  std::vector<RegularisedLine> regularised;
  std::string conclusion;              // in words, laws by their names
  std::string conclusion_in_formulas;  // and for a page, which sets formulas
};

// One for each kind of positions.
std::vector<Findings> findings_of(const Study& study, const std::vector<Result>& results);

// "cuda in bfloat16".
std::string precision_of(const Result& result);
// A sentence where networks were trained in several precisions, so that they do not compare; otherwise nothing.
std::string mixed_precision(const std::vector<Result>& results);

}  // namespace isentropic::lab::length
