// isentropic info: what this build contains and what the machine offers.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/outputs.hpp"
#include "isentropic/attention.hpp"
#include "isentropic/instruction_sets.hpp"
#include "isentropic/version.hpp"

namespace isentropic::cli {
namespace {

using Names = std::vector<std::string>;
using Json = nlohmann::ordered_json;

// Those the kernels were built for and this CPU can run, best first.
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

Names scales() {
  Names out;
  for (const Scale& scale : {Scale::inverse_sqrt_d(), Scale::log_n(), Scale::log_n_sqrt_d(), Scale::sqrt_log_n(),
                             Scale::frozen(1.0, 1024), Scale::hybrid(1.0, 0.1), Scale::trained_length(512),
                             Scale::ssmax(1.0), Scale::yarn(1.0), Scale::llama4(), Scale::constant(1.0)})
    out.push_back(scale.name());
  out.insert(out.end(), {"per_row", "target_entropy"});
  return out;
}

Names maps() {
  Names out;
  for (const ScoreMap& map :
       {ScoreMap::softmax(), ScoreMap::top_k(1), ScoreMap::gumbel(1.0, 0), ScoreMap::sparsemax(), ScoreMap::sigmoid(),
        ScoreMap::relu_squared(), ScoreMap::identity(), ScoreMap::linear(Feature::relu), ScoreMap::decay(1.0)})
    out.push_back(map.name());
  return out;
}

Names statistics() {
  return {
#define ISENTROPIC_NAME(name) #name,
      ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_NAME)
#undef ISENTROPIC_NAME
  };
}

Json describe() {
  return {{"version", ISENTROPIC_VERSION},
          {"instruction_sets", usable_instruction_sets()},
          {"kernels", active_instruction_set()},
          {"threads", default_executor().threads()},
          {"executor", default_executor().name()},
          {"types", types()},
          {"masks", Names{"none", "causal", "window", "prefix", "strided", "block_sparse", "key_lengths", "documents",
                          "segments", "dense"}},
          {"score_terms", Names{"dense_bias", "alibi", "relative_bias", "soft_cap", "sink"}},
          {"scales", scales()},
          {"maps", maps()},
          {"statistics", statistics()}};
}

std::string text_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return value.empty() ? "none" : fmt::format("{}", fmt::join(value.get<Names>(), " "));
  return value.dump();
}

// Lines of at most this many characters, continued under the second column.
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
  const Json description = describe();
  const auto lines = [&] {
    std::string out;
    for (const auto& [key, value] : description.items()) out += wrapped(key, text_of(value));
    return out;
  };
  outputs.write({lines, [&] { return description; }});
}

}  // namespace

void add_info(CLI::App& program) {
  CLI::App* command = program.add_subcommand("info", "What this build contains and what the machine offers");
  const auto outputs = std::make_shared<Outputs>();
  outputs->offer_json(command, "write the same");
  command->callback([outputs] { run(*outputs); });
}

}  // namespace isentropic::cli
