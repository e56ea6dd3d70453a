// Stored studies of trained networks that claims rely on: their figures, and the commands that produced them.
//
// Training takes minutes, so the quick tier shows what a study found, and the thorough tier trains small networks
// afresh. A study is a file studies/ledger/CLAIM.json, which is embedded in the program at build time:
//
//   {"claim": "001-s19",                                the id of a claim made by study() (claim.hpp)
//    "finding": "H falls within ...",                   one sentence
//    "commands": ["isentropic train lm ... "],          what was run
//    "machine": "two cores of ..., OMP_NUM_THREADS=1",
//    "date": "2026-11-18",
//    "seeds": 10,
//    "figures": [{"name": "test accuracy, tanh", "value": 0.885, "error": 0.002}, ...]}
//
// error is the standard error over seeds and may be omitted; all other fields are required, and no others are allowed.
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

// A JSON array of such objects. Throws Error naming the claim and the missing, mistyped or unknown field.
std::vector<StoredStudy> parse_studies(std::string_view json);

// Those that existed when the program was built.
const std::vector<StoredStudy>& stored_studies();
// Null if there is none yet.
const StoredStudy* stored_study_of(const std::string& claim);

// "0.885 ± 0.002"
std::string text(const StoredStudy::Figure& figure);

}  // namespace isentropic::ledger
