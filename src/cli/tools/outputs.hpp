// A command's outputs: tables on standard output, and whichever of --json, --svg, --html, ... are given.
//
//   --json out.json   a file, written atomically
//   --json -          standard output instead of the tables; also plain --json
//
// The other options work the same way. At most one may write to standard output, and no two to the same file.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isentropic::cli {

// The results in every form; forms that the command does not offer may be empty.
struct Forms {
  std::function<std::string()> tables;
  std::function<nlohmann::ordered_json()> json;
  std::function<std::string()> svg = {}, html = {};
  std::vector<std::function<std::string()>> others = {};  // in the order they were offered
};

class Outputs {
 public:
  // Add options to the command; the options refer to this object.
  void offer_json(CLI::App* command, const std::string& help = "write everything that was found");
  void offer_svg(CLI::App* command, const std::string& help);
  void offer_html(CLI::App* command, const std::string& option = "--html",
                  const std::string& help = "write an HTML page");

  void offer_other(CLI::App* command, const std::string& option, const std::string& help);

  // Call before the long work. Throws UsageError for an empty name, for two outputs to the same place, and for an
  // output that is also an input; throws Error for a file that cannot be written.
  void check(const std::vector<std::string>& inputs = {}) const;
  bool asks_for(const std::string& option) const;
  // Whether the tables go to standard output.
  bool shows_tables() const;
  // Writes standard output first, then the files, and reports each file in a line on standard error.
  void write(const Forms& forms) const;

 private:
  struct Output {
    std::string option;
    std::string path = {};
    CLI::Option* asked = nullptr;
  };
  void offer(CLI::App* command, Output* output, const std::string& help);
  std::vector<const Output*> wanted() const;
  std::string text_of(const Output& output, const Forms& forms) const;

  std::string command_;
  Output json_{"--json"}, svg_{"--svg"}, html_{"--html"};
  std::deque<Output> others_;  // a deque, so that addresses are stable: the options refer to them
};

}  // namespace isentropic::cli
