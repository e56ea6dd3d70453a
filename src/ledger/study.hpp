// Studies of trained networks that a claim rests on: their figures, stored with the commands that made them.
//
// Training takes minutes, so the quick tier shows what a study found, and the thorough tier trains small networks anew.
// A study is a file studies/ledger/CLAIM.json, which goes into the program when it is built:
//
//   {"claim": "001-s19",                                the id of a claim made by study() (claim.hpp)
//    "finding": "H falls within ...",                   one sentence
//    "commands": ["isentropic train lm ... "],          what was run
//    "machine": "two cores of ..., OMP_NUM_THREADS=1",
//    "date": "2026-11-18",
//    "seeds": 10,
//    "figures": [{"name": "test accuracy, tanh", "value": 0.885, "error": 0.002}, ...]}
//
// error is the standard error over seeds and may be left out; no other field may be left out or added.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isentropic::ledger {

struct StoredStudy {
  struct Figure {
    std::string name = {};
    double value = 0;
    std::optional<double> error = {};
  };
  std::string claim = {}, finding = {}, machine = {}, date = {};
  std::vector<std::string> commands = {};
  std::int64_t seeds = 0;
  std::vector<Figure> figures = {};
};

// A JSON array of such objects. Error names the claim and the field that is missing, of another kind or not known.
std::vector<StoredStudy> parse_studies(std::string_view json);

// Those that were there when the program was built.
const std::vector<StoredStudy>& stored_studies();
// Null: none yet.
const StoredStudy* stored_study_of(const std::string& claim);

// "0.885 ± 0.002"
std::string text(const StoredStudy::Figure& figure);

}  // namespace isentropic::ledger
