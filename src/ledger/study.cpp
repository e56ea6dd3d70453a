// Reads the stored studies.
#include "ledger/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "ledger/embedded_studies.hpp"

namespace isentropic::ledger {
namespace {

using nlohmann::json;

// An object of a study, with the descriptions of what can be wrong with it.
class Fields {
 public:
  Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw Error(where_, object.dump(), "an object");
  }

  void allow(std::initializer_list<const char*> names) const {
    for (const auto& [name, value] : object_.items())
      if (std::ranges::find(names, name) == names.end()) throw Error(where_, "with a field " + name, "no such field");
  }
  std::string text(const char* name) const {
    const json& value = field(name);
    if (!value.is_string() || value.get<std::string>().empty()) fail(name, "a text");
    return value.get<std::string>();
  }
  double number(const char* name) const {
    const json& value = field(name);
    if (!value.is_number() || !std::isfinite(value.get<double>())) fail(name, "a number");
    return value.get<double>();
  }
  std::int64_t count(const char* name) const {
    const json& value = field(name);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1) fail(name, "an integer from 1");
    return value.get<std::int64_t>();
  }
  const json& list(const char* name) const {
    const json& value = field(name);
    if (!value.is_array() || value.empty()) fail(name, "a list that is not empty");
    return value;
  }
  bool has(const char* name) const { return object_.contains(name); }

  [[noreturn]] void fail(const char* name, const std::string& expected) const {
    throw Error(where_ + ": " + name, has(name) ? object_[name].dump() : "missing", expected);
  }

 private:
  const json& field(const char* name) const {
    if (!has(name)) fail(name, "a value");
    return object_[name];
  }

  const json& object_;
  std::string where_;
};

bool is_date(const std::string& text) {
  const std::string form = "dddd-dd-dd";
  return std::ranges::equal(text, form, [](char c, char f) { return f == 'd' ? c >= '0' && c <= '9' : c == f; });
}

StoredStudy study_from(const json& object) {
  const bool named = object.is_object() && object.contains("claim") && object["claim"].is_string();
  const Fields fields(object, "study of " + (named ? object["claim"].get<std::string>() : std::string("no claim")));
  fields.allow({"claim", "finding", "commands", "machine", "date", "seeds", "figures"});
  StoredStudy out{fields.text("claim"), fields.text("finding"), fields.text("machine"), fields.text("date")};
  if (!is_date(out.date)) fields.fail("date", "a date such as 2026-11-18");
  out.seeds = fields.count("seeds");
  for (const json& command : fields.list("commands")) {
    if (!command.is_string() || !command.get<std::string>().starts_with("isentropic "))
      fields.fail("commands", "texts that begin with isentropic");
    out.commands.push_back(command);
  }
  for (const json& figure : fields.list("figures")) {
    const Fields inner(figure, "figure in the study of " + out.claim);
    inner.allow({"name", "value", "error"});
    out.figures.push_back({inner.text("name"), inner.number("value")});
    if (inner.has("error")) out.figures.back().error = inner.number("error");
  }
  return out;
}

}  // namespace

std::vector<StoredStudy> parse_studies(std::string_view text) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_array()) throw Error("stored studies", "no JSON list", "a list of studies");
  std::vector<StoredStudy> out;
  for (const json& study : all) out.push_back(study_from(study));
  return out;
}

const std::vector<StoredStudy>& stored_studies() {
  static const std::vector<StoredStudy> studies = parse_studies(embedded_studies());
  return studies;
}

const StoredStudy* stored_study_of(const std::string& claim) {
  const auto found = std::ranges::find(stored_studies(), claim, &StoredStudy::claim);
  return found == stored_studies().end() ? nullptr : &*found;
}

std::string text(const StoredStudy::Figure& figure) {
  return figure.error ? fmt::format("{:.6g} ± {:.2g}", figure.value, *figure.error)
                      : fmt::format("{:.6g}", figure.value);
}

}  // namespace isentropic::ledger
