// Options common to all studies, and their progress line.
#include "cli/models/study_arguments.hpp"

#include <fmt/format.h>

#include <chrono>

#include "cli/tools/arguments.hpp"
#include "cli/tools/interrupts.hpp"
#include "cli/tools/progress.hpp"

namespace isentropic::cli {
namespace {

class StudyLine {
 public:
  explicit StudyLine(std::string study) : study_(std::move(study)) {}

  void show(double share, const std::string& now) {
    if (first_share_ < 0) first_share_ = share;
    line_.show([&] { return text(share, now); }, share >= 1);
  }

 private:
  std::string text(double share, const std::string& now) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double done_here = share - first_share_;
    const std::string left = done_here > 0 ? duration(seconds * (1 - share) / done_here) + " left" : "...";
    return fmt::format("{}: {:.0f}%, {}, {}", study_, 100 * share, now, left);
  }

  const std::string study_;
  StatusLine line_;
  double first_share_ = -1;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// "isentropic train vib".
std::string name_of(const CLI::App* command) {
  std::string out;
  for (; command != nullptr; command = command->get_parent())
    out = command->get_name() + (out.empty() ? "" : " ") + out;
  return out;
}

}  // namespace

void require_alone(const CLI::App& command, bool resume, bool overwrite, const std::set<std::string>& may_change) {
  if (!resume) return;
  if (overwrite) throw UsageError("--resume", "given with --overwrite", "one of them");
  for (const CLI::Option* option : command.get_options())
    if (const std::string name = option->get_name();
        option->count() > 0 && name != "--resume" && name != "--output" && !may_change.contains(name))
      throw UsageError(name, "given with --resume", "none: the study knows its options");
}

CLI::Validator numbers(double low, double high) {
  const auto check = [low, high](std::string& text) {
    double value = 0;
    const bool fits = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
    return fits ? std::string() : fmt::format("Value {} not in range {} to {}", text, to_text(low), to_text(high));
  };
  return {check, CLI::Range(low, high).get_description()};
}

CLI::Validator seeds() {
  const auto check = [](std::string& text) {
    return text.starts_with('-') ? fmt::format("Value {} is negative", text) : std::string();
  };
  return {check, ""};
}

void add_count(CLI::App* command, const std::string& name, std::int64_t& value, const std::string& help) {
  command->add_option(name, value, help)->capture_default_str()->check(CLI::Range(1, 1 << 30));
}

void StudyArguments::offer(CLI::App* to) {
  command = to;
  to->add_option("-o,--output", folder, "output folder")->required();
  to->add_flag("--resume", resume, "continue the study in that folder");
  to->add_flag("--overwrite", overwrite, "replace the study in that folder");
  to->add_option("--seed", seed, "random seed")->capture_default_str()->check(seeds());
  to->add_option("--minutes", minutes, "stop after this many minutes; --resume continues")->check(numbers(0.0, 1e6));
  to->add_option("--device", device, "cpu, cuda, cuda:1, ...")->capture_default_str()->each([this](const std::string&) {
    device_given = true;
  });
}

void StudyArguments::require_place() const {
  require_alone(*command, resume, overwrite, may_change);
  if (!resume) lab::StudyFolder::require_place(folder, existing());
}

std::string StudyArguments::given_again() const {
  std::string out;
  for (const CLI::Option* option : command->get_options()) {
    if (option->count() == 0 || !may_change.contains(option->get_name())) continue;
    out += " " + option->get_name();
    if (option->get_items_expected_max() == 0) continue;  // a flag
    for (const std::string& value : option->results()) out += " " + value;
  }
  return out;
}

lab::StudyFolder StudyArguments::open(const lab::StudyFolder::Json& options) const {
  require_alone(*command, resume, overwrite, may_change);
  if (resume) {
    lab::StudyFolder out = lab::StudyFolder::resume(folder, study, lines);
    if (device_given) out.use_device(device);
    return out;
  }
  return lab::StudyFolder::begin(folder, study, options, existing(), lines);
}

void run_study(const StudyArguments& arguments, const std::function<bool(const lab::StudyCallbacks&)>& run) {
  note_interrupts();
  StudyLine line(arguments.study);
  lab::StudyCallbacks callbacks;
  callbacks.say = [&](const std::string& message) { fmt::print(stderr, "{}: {}\n", arguments.study, message); };
  callbacks.show = [&](double share, const std::string& now) { line.show(share, now); };
  const auto start = std::chrono::steady_clock::now();
  callbacks.stop = [&] {
    const std::chrono::duration<double, std::ratio<60>> passed = std::chrono::steady_clock::now() - start;
    return interrupted() || (arguments.minutes > 0 && passed.count() >= arguments.minutes);
  };
  if (!run(callbacks))
    throw Error("study", interrupted() ? "interrupted" : "stopped after " + duration(60 * arguments.minutes),
                name_of(arguments.command) + " -o " + arguments.folder + " --resume" + arguments.given_again() +
                    ", to continue");
}

}  // namespace isentropic::cli
