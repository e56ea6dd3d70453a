// config.json of a model folder: typed fields, and errors that say which field of which file is wrong.
//
//   const Config config = Config::read(folder);
//   const auto width = config.integer({"hidden_size", "n_embd"}, {.least = 1});
//   const double theta = config.find_number({"rope_theta", "rope_parameters.rope_theta"}).value_or(10000);
//
//   models/x/config.json: rope_scaling.factor is "x"; expected a number
//
// Old and new checkpoints spell fields differently, so a field is looked up under all its spellings, and the first one
// present counts. A dot leads into a nested object. null counts as absent.
//
// NaN, Infinity and -Infinity are accepted both as Python's json module writes them and in the form of transformers 5,
// {"__float__": "Infinity"}. Infinity is accepted only where the range allows it, NaN nowhere.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isentropic::checkpoint {

// The spellings of one field, the preferred one first.
struct Field {
  Field(const char* spelling) : spellings{spelling} {}
  Field(std::initializer_list<const char*> all) : spellings(all.begin(), all.end()) {}
  std::vector<std::string> spellings;
};

struct IntegerRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
struct NumberRange {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
};

class Config {
 public:
  // `path`: a folder that contains config.json, or such a file itself. At most 16 MB, nested at most 64 deep.
  static Config read(const std::string& path);
  static Config parse(const std::string& file, std::string_view text);

  // Each throws Error if the field has another type or is out of range. If it is absent, the first form throws and the
  // second returns nothing, so that .value_or() gives a default.
  std::int64_t integer(const Field& field, IntegerRange range = {}) const;
  std::optional<std::int64_t> find_integer(const Field& field, IntegerRange range = {}) const;
  double number(const Field& field, NumberRange range = {}) const;
  std::optional<double> find_number(const Field& field, NumberRange range = {}) const;
  bool boolean(const Field& field) const;
  std::optional<bool> find_boolean(const Field& field) const;
  // Texts are names that messages repeat: one line, at most 200 bytes.
  std::string text(const Field& field) const;
  std::optional<std::string> find_text(const Field& field) const;
  // A single integer counts as a list of one: eos_token_id is written both ways.
  std::vector<std::int64_t> integers(const Field& field, IntegerRange range = {}) const;
  std::optional<std::vector<std::int64_t>> find_integers(const Field& field, IntegerRange range = {}) const;
  std::vector<std::string> texts(const Field& field) const;
  std::optional<std::vector<std::string>> find_texts(const Field& field) const;
  // A nested object, such as rope_scaling or text_config.
  Config section(const Field& field) const;
  std::optional<Config> find_section(const Field& field) const;

  bool has(const Field& field) const;
  // Whether the key is present at all, even as null.
  bool mentions(std::string_view key) const;
  // This object as JSON, for readers that parse it themselves.
  std::string json_text() const;
  // "models/x/config.json: rope_scaling.factor", for the caller's own errors.
  std::string place(std::string_view key) const;

 private:
  struct Found;
  Config(std::string file, std::string path, std::shared_ptr<const nlohmann::json> object);
  std::optional<Found> find(const Field& field) const;
  template <class T, class Convert>
  std::optional<T> find_as(const Field& field, const std::string& expected, Convert convert) const;
  template <class T>
  T required(std::optional<T> value, const Field& field, const std::string& expected) const;

  std::string file_;
  std::string path_;  // "" or "rope_scaling."
  std::shared_ptr<const nlohmann::json> object_;
};

}  // namespace isentropic::checkpoint
