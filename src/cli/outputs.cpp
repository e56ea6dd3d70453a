#include "cli/outputs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "report/output_file.hpp"

namespace isentropic::cli {
namespace {

bool is_standard_output(const std::string& path) { return path == "-"; }
bool is_file(const std::string& path) { return !path.empty() && !is_standard_output(path); }

}  // namespace

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void Outputs::check() const {
  if (is_standard_output(json_path) && is_standard_output(svg_path))
    throw UsageError("--svg", "-", "a file, because --json is - too");
  if (is_file(json_path)) report::check_writable("--json", json_path);
  if (is_file(svg_path)) report::check_writable("--svg", svg_path);
  if (!html_path.empty()) report::check_writable("--html", html_path);
}

void Outputs::write(const Forms& forms) const {
  if (is_standard_output(json_path))
    fmt::print("{}", json_text(forms.json()));
  else
    fmt::print("{}", is_standard_output(svg_path) ? forms.svg() : forms.tables());
  if (is_file(json_path)) report::write_file("--json", json_path, json_text(forms.json()));
  if (is_file(svg_path)) report::write_file("--svg", svg_path, forms.svg());
  if (!html_path.empty()) report::write_file("--html", html_path, forms.html());
}

}  // namespace isentropic::cli
