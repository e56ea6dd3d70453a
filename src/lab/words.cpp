// Reads NAME:PARAMETER=VALUE,...
#include "lab/words.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "attention/problem/options.hpp"
#include "isentropic/error.hpp"

namespace isentropic::lab {
namespace {

template <class T>
bool parse(const std::string& text, T* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

Option option_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (std::int64_t whole = 0; parse(text, &whole)) return whole;
  if (double number = 0; parse(text, &number)) return number;
  return text;
}

std::string text_of(const Option& option) {
  std::ostringstream out;
  if (const auto* flag = std::get_if<bool>(&option)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&option)) out << *whole;
  if (const auto* number = std::get_if<double>(&option)) out << *number;
  if (const auto* word = std::get_if<std::string>(&option)) out << *word;
  if (std::holds_alternative<std::vector<double>>(option)) out << "by head";
  return out.str();
}

struct Word {
  std::string name;
  Options options;  // a value without a name has an empty name
};

Word word_of(const std::string& argument, const std::string& text) {
  const std::size_t colon = text.find(':');
  Word out{text.substr(0, colon), {}};
  if (colon == std::string::npos) return out;
  std::istringstream rest(text.substr(colon + 1));
  for (std::string part; std::getline(rest, part, ',');) {
    const std::size_t equals = part.find('=');
    const bool named = equals != std::string::npos;
    const Option value = option_of(named ? part.substr(equals + 1) : part);
    const bool is_number = !std::holds_alternative<std::string>(value);
    if (part.empty() || equals == 0 || (!named && !is_number))
      throw Error(argument, "'" + text + "'", "NAME or NAME:PARAMETER=VALUE,...");
    out.options.emplace_back(named ? part.substr(0, equals) : "", value);
  }
  return out;
}

// Values without a name get that of the parameter at their position.
Options named_options(const std::string& argument, const Word& word, const std::vector<Parameter>& parameters) {
  Options out = word.options;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].first.empty()) continue;
    if (i >= parameters.size())
      throw Error(
          argument + " " + word.name, "given '" + text_of(out[i].second) + "'",
          parameters.empty() ? "nothing: it has no parameters" : std::to_string(parameters.size()) + " values at most");
    out[i].first = parameters[i].name;
  }
  return out;
}

// The parameters of the law or map of that name; empty for an unknown name, which named() then reports.
template <class Words>
std::vector<Parameter> parameters_of(const Words& words, const std::string& name) {
  for (const auto& known : words)
    if (known.name == name) return known.parameters;
  return {};
}

// ---- masks ----

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

struct MaskWords {
  std::string name;
  std::vector<Parameter> parameters;
  Mask (*add)(const Mask& mask, const std::vector<std::int64_t>& sizes);
};

const std::vector<MaskWords>& mask_words() {
  using Sizes = const std::vector<std::int64_t>&;
  const auto size = [](const char* name) { return Parameter{.name = name, .type = Parameter::Type::integer}; };
  static const std::vector<MaskWords> table = {
      {"window", {size("size")}, [](const Mask& m, Sizes x) { return m.window(x[0], x[0] - 1); }},
      {"prefix", {size("keys")}, [](const Mask& m, Sizes x) { return m.prefix(x[0]); }},
      {"strided", {size("stride"), size("local")}, [](const Mask& m, Sizes x) { return m.strided(x[0], x[1]); }},
      {"segments", {size("length")}, [](const Mask& m, Sizes x) { return m.segments(x[0]); }}};
  return table;
}

// In the order of the parameters, each of which must be given.
std::vector<std::int64_t> sizes_of(const MaskWords& part, const Options& options) {
  std::vector<std::int64_t> out;
  for (const Parameter& parameter : part.parameters) {
    const std::string what = parameter.name + " of the mask " + part.name;
    const auto given = std::ranges::find(options, parameter.name, &Options::value_type::first);
    if (given == options.end()) throw Error(what, "absent", "an integer");
    const auto* size = std::get_if<std::int64_t>(&given->second);
    if (size == nullptr || *size < 1 || *size > kLargestSize)
      throw Error(what, text_of(given->second), "an integer from 1 to " + std::to_string(kLargestSize));
    out.push_back(*size);
  }
  if (options.size() != out.size()) throw Error("mask " + part.name, "given other parameters", "each of its own once");
  return out;
}

Mask with_part(const Mask& mask, const std::string& text) {
  const Word word = word_of("mask", text);
  const MaskWords& part = word_named("mask", mask_words(), word.name);
  return part.add(mask, sizes_of(part, named_options("mask", word, part.parameters)));
}

std::string text_of(const std::string& name, const Options& options) {
  std::string out = name;
  for (const auto& [parameter, value] : options)
    out += (out.size() == name.size() ? ":" : ",") + parameter + "=" + text_of(value);
  return out;
}

}  // namespace

Scale scale_from_text(const std::string& text) {
  const Word word = word_of("scale", text);
  if (word.name == "per_row") throw Error("scale", "'per_row'", "a law that needs no tensor");
  return Scale::named(word.name, named_options("scale", word, parameters_of(Scale::laws(), word.name)));
}

ScoreMap map_from_text(const std::string& text) {
  const Word word = word_of("map", text);
  return ScoreMap::named(word.name, named_options("map", word, parameters_of(ScoreMap::maps(), word.name)));
}

Mask mask_from_text(const std::string& text) {
  Mask out;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '+');) out = with_part(out, part);
  if (text.empty()) throw Error("mask", "''", "a part, as window:256");
  if (out.prefix_keys > 0 && (!out.window_part || out.segment_length > 0))
    throw Error("mask", "'" + text + "'", "a window beside the prefix, and no segments, as prefix:4+window:256");
  return out;
}

std::vector<std::string> joined_words(const std::vector<std::string>& parts) {
  if (parts == std::vector<std::string>{"none"}) return {};
  std::vector<std::string> out;
  for (const std::string& part : parts) {
    const bool goes_on = part.find('=') != std::string::npos && part.find(':') == std::string::npos;
    if (goes_on && !out.empty())
      out.back() += "," + part;
    else
      out.push_back(part);
  }
  return out;
}

std::string text_of(const Scale& scale) { return text_of(scale.name(), scale.options()); }
std::string text_of(const ScoreMap& map) { return text_of(map.name(), map.options()); }

}  // namespace isentropic::lab
