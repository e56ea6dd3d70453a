// Hooks into the parser to check depth, number of values and duplicate keys.
#include "io/untrusted_json.hpp"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

using nlohmann::json;

class Watch {
 public:
  Watch(const std::string& place, const JsonLimits& limits) : place_(place), limits_(limits) {}

  void see(std::size_t depth, json::parse_event_t event, const json& parsed) {
    using enum json::parse_event_t;
    if (event == key) return see_key(parsed.get_ref<const std::string&>());
    if (event == object_end) return keys_.pop_back();
    if (event == array_end) return;
    if (++values_ > limits_.values)
      throw Error(place_, "JSON of more than " + std::to_string(limits_.values) + " values", "fewer");
    if (event == value) return;
    if (depth >= limits_.depth)
      throw Error(place_, "JSON nested deeper than " + std::to_string(limits_.depth) + " levels", "fewer");
    if (event == object_start) keys_.emplace_back();
  }

 private:
  void see_key(const std::string& key) {
    if (!keys_.back().insert(key).second)
      throw Error(place_, "JSON with the key " + excerpt(key) + " twice", "it once");
  }

  const std::string& place_;
  const JsonLimits& limits_;
  std::size_t values_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects
};

}  // namespace

json parse_object(const std::string& place, std::string_view text, const JsonLimits& limits) {
  Watch watch(place, limits);
  json out;
  try {
    out = json::parse(text.begin(), text.end(), [&](int depth, json::parse_event_t event, const json& parsed) {
      watch.see(static_cast<std::size_t>(depth), event, parsed);
      return true;
    });
  } catch (const json::parse_error& error) {
    throw Error(place, "not JSON at byte " + std::to_string(error.byte), "a JSON object");
  } catch (const json::exception&) {
    throw Error(place, "JSON with a number out of range", "numbers below 1.8e308");
  }
  if (!out.is_object()) throw Error(place, excerpt(out), "a JSON object");
  return out;
}

std::string excerpt(const json& value) {
  constexpr std::size_t kLongest = 100;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kLongest) text.replace(kLongest, std::string::npos, "...");
  return text;
}

const json* member(const json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

bool is_size(const json& value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= kMost;
}

}  // namespace isentropic::io
