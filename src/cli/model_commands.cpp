// Commands that need libtorch live in a separate program, isentropic-torch: loading libtorch takes longer than most of
// what this program does. They are found, listed and started here.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "cli/commands.hpp"
#include "cli/model_program.hpp"
#include "cli/tools/arguments.hpp"

namespace isentropic::cli {
namespace {

std::string program_beside_this_one() {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error);
  return (here.parent_path() / "isentropic-torch").string();
}

}  // namespace

bool has_model_program() { return access(program_beside_this_one().c_str(), X_OK) == 0; }

void start_model_program(const std::string& command, const std::vector<std::string>& arguments) {
  std::string path = program_beside_this_one();
  std::vector<std::string> all = {path, command};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  // Threads that spin while waiting slow small networks to a crawl as soon as another process needs the cores.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  execv(path.c_str(), pointers.data());
  throw Error(command, "not available: " + path + " could not be started (" + std::strerror(errno) + ")",
              "a build with PyTorch (make models)");
}

void add_model_commands(CLI::App& program) {
  struct Entry {
    const char *name, *help;
  };
  constexpr std::array kEntries = {
      Entry{"scan", "Scan how the heads of a model attend over a text and write a report"},
      Entry{"train", "Train a language model, or run a study of small networks"},
      Entry{"perplexity", "Measure the perplexity of a model on a text, also by context length"},
      Entry{"generate", "Generate text from a prompt"},
      Entry{"plane", "Train small networks and follow their layers in the information plane"},
  };
  for (const Entry& entry : kEntries) {
    CLI::App* command = program.add_subcommand(entry.name, entry.help);
    command->set_help_flag();  // --help goes to the other program
    command->prefix_command();
    command->callback([command, name = std::string(entry.name)] { start_model_program(name, command->remaining()); });
  }
}

}  // namespace isentropic::cli
