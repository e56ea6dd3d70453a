// Looks up fields of config.json and checks their types.
#include "checkpoint/config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/mapped_file.hpp"
#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"

namespace isentropic::checkpoint {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestFile = 16'000'000;
constexpr io::JsonLimits kLimits = {.depth = 64, .values = 1'000'000};

// ---- Numbers that JSON does not have ----

constexpr const char* kFloatTag = "__float__";

struct SpecialFloat {
  std::string_view name;
  double value;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kSpecialFloats = {SpecialFloat{"NaN", std::numeric_limits<double>::quiet_NaN()},
                                       SpecialFloat{"Infinity", kInfinity}, SpecialFloat{"-Infinity", -kInfinity}};

// Rewrites Python's bare words in the form that transformers 5 writes.
std::string tag_special_floats(std::string_view text) {
  std::string out;
  bool quoted = false;
  while (!text.empty()) {
    const auto* const special = std::ranges::find_if(
        kSpecialFloats, [&](const SpecialFloat& each) { return !quoted && text.starts_with(each.name); });
    std::size_t taken = 1;
    if (special != kSpecialFloats.end()) {
      taken = special->name.size();
      out.append("{\"").append(kFloatTag).append("\":\"").append(special->name).append("\"}");
    } else {
      if (text[0] == '"') quoted = !quoted;
      if (text[0] == '\\' && quoted) taken = std::min<std::size_t>(2, text.size());
      out += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::optional<double> as_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_object() || value.size() != 1) return std::nullopt;
  const json* const tagged = io::member(value, kFloatTag);
  if (tagged == nullptr || !tagged->is_string()) return std::nullopt;
  const auto* const special =
      std::ranges::find(kSpecialFloats, tagged->get_ref<const std::string&>(), &SpecialFloat::name);
  if (special == kSpecialFloats.end()) return std::nullopt;
  return special->value;
}

// ---- Values of a type within a range, or nothing ----

std::optional<std::int64_t> integer_in(const json& value, const IntegerRange& range) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && !io::is_size(value))) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  return number >= range.least && number <= range.most ? std::optional(number) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> integers_in(const json& value, const IntegerRange& range) {
  std::vector<std::int64_t> out;
  for (const json& each : value.is_array() ? value : json::array({value})) {
    const auto number = integer_in(each, range);
    if (!number) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

std::optional<std::vector<std::string>> texts_in(const json& value) {
  const auto is_text = [](const json& each) { return each.is_string(); };
  if (!value.is_array() || !std::ranges::all_of(value, is_text)) return std::nullopt;
  return value.get<std::vector<std::string>>();
}

// Whether error messages can repeat it verbatim.
bool is_name(const std::string& text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  return text.size() <= 200 && std::ranges::none_of(text, is_control);
}
constexpr const char* kNameExpected = "a text of one line, at most 200 bytes long";

template <class T>
std::optional<T> value_if(bool matches, const json& value) {
  return matches ? std::optional<T>(value.get<T>()) : std::nullopt;
}

// ---- What was expected ----

using isentropic::to_text;
std::string to_text(std::int64_t number) { return std::to_string(number); }

// "an integer >= 1 and <= 64"
template <class Range>
std::string within(const std::string& what, const Range& range) {
  std::string out = what;
  if (range.least > Range().least) out += " >= " + to_text(range.least);
  if (range.most < Range().most) out += (out == what ? " <= " : " and <= ") + to_text(range.most);
  return out;
}

}  // namespace

struct Config::Found {
  std::string path;
  const json& value;
};

Config::Config(std::string file, std::string path, std::shared_ptr<const json> object)
    : file_(std::move(file)), path_(std::move(path)), object_(std::move(object)) {}

Config Config::read(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::string file = folder ? (std::filesystem::path(path) / "config.json").string() : path;
  const MappedFile mapped = map_file(file, "the configuration of a model");
  return parse(file, mapped.text());
}

Config Config::parse(const std::string& file, std::string_view text) {
  if (text.size() > kLargestFile)
    throw Error(file, std::to_string(text.size()) + " bytes long", "at most " + std::to_string(kLargestFile));
  return {file, "", std::make_shared<const json>(io::parse_object(file, tag_special_floats(text), kLimits))};
}

std::string Config::place(std::string_view key) const { return file_ + ": " + path_ + std::string(key); }

// Follows the dots of each spelling in turn.
std::optional<Config::Found> Config::find(const Field& field) const {
  for (const std::string& spelling : field.spellings) {
    const json* value = object_.get();
    for (std::size_t begin = 0; value != nullptr && begin <= spelling.size();) {
      const std::size_t end = std::min(spelling.find('.', begin), spelling.size());
      if (!value->is_object()) throw Error(place(spelling.substr(0, begin - 1)), io::excerpt(*value), "an object");
      value = io::member(*value, std::string_view(spelling).substr(begin, end - begin));
      if (value != nullptr && value->is_null()) value = nullptr;
      begin = end + 1;
    }
    if (value != nullptr) return Found{spelling, *value};
  }
  return std::nullopt;
}

template <class T, class Convert>
std::optional<T> Config::find_as(const Field& field, const std::string& expected, Convert convert) const {
  const auto found = find(field);
  if (!found) return std::nullopt;
  if (std::optional<T> value = convert(found->value)) return value;
  throw Error(place(found->path), io::excerpt(found->value), expected);
}

template <class T>
T Config::required(std::optional<T> value, const Field& field, const std::string& expected) const {
  if (value) return *std::move(value);
  std::string others;
  for (std::size_t i = 1; i < field.spellings.size(); ++i)
    others += (i == 1 ? ", here or as " : " or ") + field.spellings[i];
  throw Error(place(field.spellings.at(0)), "missing", expected + others);
}

bool Config::has(const Field& field) const { return find(field).has_value(); }
bool Config::mentions(std::string_view key) const { return io::member(*object_, key) != nullptr; }
std::string Config::json_text() const { return object_->dump(); }

std::optional<std::int64_t> Config::find_integer(const Field& field, IntegerRange range) const {
  return find_as<std::int64_t>(field, within("an integer", range),
                               [&](const json& value) { return integer_in(value, range); });
}
std::int64_t Config::integer(const Field& field, IntegerRange range) const {
  return required(find_integer(field, range), field, within("an integer", range));
}

std::optional<double> Config::find_number(const Field& field, NumberRange range) const {
  const auto found = find(field);
  if (!found) return std::nullopt;
  const auto number = as_number(found->value);
  if (number && *number >= range.least && *number <= range.most) return number;
  const bool finite = !number || std::isfinite(*number);
  throw Error(place(found->path), finite ? io::excerpt(found->value) : to_text(*number),
              within(finite ? "a number" : "a finite number", range));
}
double Config::number(const Field& field, NumberRange range) const {
  return required(find_number(field, range), field, within("a number", range));
}

std::optional<bool> Config::find_boolean(const Field& field) const {
  return find_as<bool>(field, "true or false",
                       [](const json& value) { return value_if<bool>(value.is_boolean(), value); });
}
bool Config::boolean(const Field& field) const { return required(find_boolean(field), field, "true or false"); }

std::optional<std::string> Config::find_text(const Field& field) const {
  const auto text = find_as<std::string>(
      field, "a text", [](const json& value) { return value_if<std::string>(value.is_string(), value); });
  if (text && !is_name(*text)) throw Error(place(find(field)->path), io::excerpt(*text), kNameExpected);
  return text;
}
std::string Config::text(const Field& field) const { return required(find_text(field), field, "a text"); }

std::optional<std::vector<std::int64_t>> Config::find_integers(const Field& field, IntegerRange range) const {
  return find_as<std::vector<std::int64_t>>(field, within("a list of integers", range),
                                            [&](const json& value) { return integers_in(value, range); });
}
std::vector<std::int64_t> Config::integers(const Field& field, IntegerRange range) const {
  return required(find_integers(field, range), field, within("a list of integers", range));
}

std::optional<std::vector<std::string>> Config::find_texts(const Field& field) const {
  const auto texts = find_as<std::vector<std::string>>(field, "a list of texts", texts_in);
  if (!texts) return texts;
  for (const std::string& text : *texts)
    if (!is_name(text)) throw Error(place(find(field)->path), "with " + io::excerpt(text), kNameExpected);
  return texts;
}
std::vector<std::string> Config::texts(const Field& field) const {
  return required(find_texts(field), field, "a list of texts");
}

std::optional<Config> Config::find_section(const Field& field) const {
  const auto found = find(field);
  if (!found) return std::nullopt;
  if (!found->value.is_object()) throw Error(place(found->path), io::excerpt(found->value), "an object");
  return Config(file_, path_ + found->path + ".", {object_, &found->value});  // keeps the whole file alive
}
Config Config::section(const Field& field) const { return required(find_section(field), field, "an object"); }

}  // namespace isentropic::checkpoint
