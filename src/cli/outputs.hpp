// What a command writes besides its tables: --json, --svg and --html, files or (-) standard output.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace isentropic::cli {

// Two spaces deep, with a line end. Names of files and columns may hold any bytes: what is not UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& json);

// The results in every form; `html` may be empty.
struct Forms {
  std::function<std::string()> tables;
  std::function<nlohmann::ordered_json()> json;
  std::function<std::string()> svg, html;
};

struct Outputs {
  std::string json_path, svg_path, html_path;

  // Before the long work: UsageError where two would go to standard output, Error for a file that cannot be written.
  void check() const;
  // The tables to standard output, unless JSON or the picture goes there; then the files.
  void write(const Forms& forms) const;
};

}  // namespace isentropic::cli
