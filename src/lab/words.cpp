// Reads NAME:PARAMETER=VALUE,...
#include "lab/words.hpp"

#include <charconv>
#include <sstream>

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

struct Word {
  std::string name;
  Options options;
};

Word word_of(const std::string& argument, const std::string& text) {
  const std::size_t colon = text.find(':');
  Word out{text.substr(0, colon), {}};
  if (colon == std::string::npos) return out;
  std::istringstream rest(text.substr(colon + 1));
  for (std::string part; std::getline(rest, part, ',');) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) throw Error(argument, "'" + text + "'", "NAME or NAME:PARAMETER=VALUE,...");
    out.options.emplace_back(part.substr(0, equals), option_of(part.substr(equals + 1)));
  }
  return out;
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

std::string text_of(const std::string& name, const Options& options) {
  std::string out = name;
  for (const auto& [parameter, value] : options)
    out += (out.size() == name.size() ? ":" : ",") + parameter + "=" + text_of(value);
  return out;
}

}  // namespace

Scale scale_from_text(const std::string& text) {
  const Word word = word_of("scale", text);
  return Scale::named(word.name, word.options);
}

ScoreMap map_from_text(const std::string& text) {
  const Word word = word_of("map", text);
  return ScoreMap::named(word.name, word.options);
}

std::string text_of(const Scale& scale) { return text_of(scale.name(), scale.options()); }
std::string text_of(const ScoreMap& map) { return text_of(map.name(), map.options()); }

}  // namespace isentropic::lab
