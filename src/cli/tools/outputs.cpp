// Checks the output options against each other before the work starts, and writes the files at the end.
#include "cli/tools/outputs.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/tools/arguments.hpp"
#include "cli/tools/json_text.hpp"
#include "cli/tools/terminal.hpp"
#include "io/output_file.hpp"

namespace isentropic::cli {
namespace {

namespace fs = std::filesystem;

bool is_standard_output(const std::string& path) { return path == "-"; }

// Whether two names refer to the same file, which need not exist yet.
bool same_place(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  return fs::weakly_canonical(fs::absolute(a), error) == fs::weakly_canonical(fs::absolute(b), error);
}

}  // namespace

void Outputs::offer(CLI::App* command, Output* output, const std::string& help) {
  const CLI::App* parent = command->get_parent();
  const bool nested = parent != nullptr && parent->get_parent() != nullptr;
  command_ = (nested ? parent->get_name() + " " : "") + command->get_name();
  output->asked = command->add_option(output->option, output->path, help + " (-: standard output)")
                      ->type_name("FILE")
                      ->expected(0, 1)
                      ->default_str("-");
}
void Outputs::offer_json(CLI::App* command, const std::string& help) { offer(command, &json_, help + ", as JSON"); }
void Outputs::offer_svg(CLI::App* command, const std::string& help) { offer(command, &svg_, help); }
void Outputs::offer_html(CLI::App* command, const std::string& option, const std::string& help) {
  html_.option = option;
  offer(command, &html_, help);
}

void Outputs::offer_other(CLI::App* command, const std::string& option, const std::string& help) {
  others_.push_back({option});
  offer(command, &others_.back(), help);
}

bool Outputs::asks_for(const std::string& option) const {
  for (const Output* output : wanted())
    if (output->option == option) return true;
  return false;
}

std::vector<const Outputs::Output*> Outputs::wanted() const {
  std::vector<const Output*> all = {&json_, &svg_, &html_};
  for (const Output& output : others_) all.push_back(&output);
  std::erase_if(all, [](const Output* output) { return output->asked == nullptr || output->asked->count() == 0; });
  return all;
}

void Outputs::check(const std::vector<std::string>& inputs) const {
  const std::vector<const Output*> outputs = wanted();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, path, asked] = *outputs[i];
    if (path.empty()) throw UsageError(option, "empty", "the name of a file, or - for standard output");
    for (std::size_t before = 0; before < i; ++before) {
      const Output& other = *outputs[before];
      if (same_place(path, other.path))
        throw UsageError(option, path, "a file of its own, because " + other.option + " is " + other.path + " too");
    }
    for (const std::string& input : inputs)
      if (!is_standard_output(path) && same_place(path, input))
        throw UsageError(option, path, "a file other than the input");
  }
  for (const Output* output : outputs)
    if (!is_standard_output(output->path)) io::check_writable(output->option, output->path);
}

bool Outputs::shows_tables() const {
  for (const Output* output : wanted())
    if (is_standard_output(output->path)) return false;
  return true;
}

std::string Outputs::text_of(const Output& output, const Forms& forms) const {
  if (&output == &json_) return json_text(forms.json());
  if (&output == &svg_) return forms.svg();
  if (&output == &html_) return forms.html();
  for (std::size_t i = 0; i < others_.size(); ++i)
    if (&output == &others_[i]) return forms.others[i]();
  throw std::logic_error("an output that was not offered");
}

void Outputs::write(const Forms& forms) const {
  if (shows_tables()) print(printable(forms.tables()));
  for (const Output* output : wanted())
    if (is_standard_output(output->path)) print(text_of(*output, forms));
  for (const Output* output : wanted()) {
    if (is_standard_output(output->path)) continue;
    io::write_file(output->option, output->path, text_of(*output, forms));
    fmt::print(stderr, "{}: wrote {}{}\n", command_, printable_line(output->path),
               output == &svg_ || output == &html_ ? ", to be opened in a web browser" : "");
  }
}

}  // namespace isentropic::cli
