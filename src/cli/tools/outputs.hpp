// What a command writes: tables to standard output, and whatever of --json, --svg, --html, ... was asked for.
//
//   --json out.json   a file, whole or not there
//   --json -          standard output instead of the tables; also --json alone
//
// The same for all of them. At most one goes to standard output, and no two to one file.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isentropic::cli {

// The results in every form; those that the command does not offer may be empty.
struct Forms {
  std::function<std::string()> tables;
  std::function<nlohmann::ordered_json()> json;
  std::function<std::string()> svg = {}, html = {};
  std::vector<std::function<std::string()>> others = {};  // in the order in which they were offered
};

class Outputs {
 public:
  // Options of the command; they refer to this object.
  void offer_json(CLI::App* command, const std::string& help = "write everything that was found");
  void offer_svg(CLI::App* command, const std::string& help);
  void offer_html(CLI::App* command, const std::string& option = "--html",
                  const std::string& help = "write an HTML page");

  void offer_other(CLI::App* command, const std::string& option, const std::string& help);

  // Before the long work: UsageError for an empty name, for two outputs to one place and for one that is an input;
  // Error for a file that cannot be written.
  void check(const std::vector<std::string>& inputs = {}) const;
  bool asks_for(const std::string& option) const;
  // Whether the tables go to standard output.
  bool shows_tables() const;
  // Standard output first, then the files, and a line on standard error for each of them.
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
  std::deque<Output> others_;  // whose addresses stay: the options refer to them
};

}  // namespace isentropic::cli
