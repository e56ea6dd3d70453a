// isentropic info: what this build contains and what the machine offers.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "attention/problem/problem_spec.hpp"
#include "cli/commands.hpp"
#include "cli/tools/outputs.hpp"
#include "isentropic/attention.hpp"
#include "isentropic/instruction_sets.hpp"
#include "isentropic/version.hpp"

namespace isentropic::cli {
namespace {

using Names = std::vector<std::string>;
using Json = nlohmann::ordered_json;

// The instruction sets that the kernels were built for and this CPU supports, best first.
Names usable_instruction_sets() {
  Names out;
  for (const InstructionSet& set : instruction_sets())
    if (set.supported) out.push_back(set.name);
  return out;
}

std::string active_instruction_set() {
  for (const InstructionSet& set : instruction_sets())
    if (set.active) return set.name;
  return {};
}

Names types() {
  Names out;
  for (const DType type : {DType::float32, DType::bfloat16, DType::float16, DType::float64}) out.push_back(name(type));
  return out;
}

Names names_of(const Json& words) {
  Names out;
  for (const Json& word : words) out.push_back(word.at("name"));
  return out;
}

// With their parameters, as options spell them: "linear:feature,normaliser,gamma,recurrent,sharpen".
Names words_of(const Json& words) {
  Names out;
  for (const Json& word : words) {
    const Names parameters = names_of(word.at("parameters"));
    out.push_back(word.at("name").get<std::string>() + (parameters.empty() ? "" : ":") +
                  fmt::format("{}", fmt::join(parameters, ",")));
  }
  return out;
}

// write: formats laws and maps.
Json describe(Names (*write)(const Json&)) {
  const Json words = Json::parse(vocabulary_json());
  return {{"version", ISENTROPIC_VERSION},
          {"instruction_sets", usable_instruction_sets()},
          {"kernels", active_instruction_set()},
          {"threads", default_executor().threads()},
          {"executor", default_executor().name()},
          {"types", types()},
          {"masks", words["masks"]},
          {"score_terms", words["score_terms"]},
          {"scales", write(words["scales"])},
          {"maps", write(words["maps"])},
          {"statistics", words["statistics"]}};
}

std::string text_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return value.empty() ? "none" : fmt::format("{}", fmt::join(value.get<Names>(), " "));
  return value.dump();
}

// Wraps at this many characters, with continuation lines aligned to the second column.
std::string wrapped(const std::string& title, const std::string& text) {
  constexpr std::size_t kColumn = 18, kWidth = 100;
  std::string out, line = fmt::format("{:<{}}", title, kColumn);
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.size();
    if (end - begin > kWidth - kColumn) end = text.rfind(' ', begin + kWidth - kColumn);
    out += line + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
    line = std::string(kColumn, ' ');
  }
  return out;
}

void run(const Outputs& outputs) {
  outputs.check();
  const auto lines = [] {
    std::string out;
    const Json description = describe(words_of);
    for (const auto& [key, value] : description.items()) out += wrapped(key, text_of(value));
    return out;
  };
  outputs.write({lines, [] { return describe(names_of); }});
}

}  // namespace

void add_info(CLI::App& program) {
  CLI::App* command = program.add_subcommand("info", "What this build contains and what the machine offers");
  const auto outputs = std::make_shared<Outputs>();
  outputs->offer_json(command, "write the same");
  command->callback([outputs] { run(*outputs); });
}

}  // namespace isentropic::cli
