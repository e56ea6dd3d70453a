// Options common to all studies (output folder, resume, seed, device) and progress reporting.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <set>
#include <string>

#include "lab/study_folder.hpp"

namespace isentropic::cli {

// Throws a UsageError if --resume is given with --overwrite, or with options that have no effect then: a resumed study
// keeps the options it began with.
void require_alone(const CLI::App& command, bool resume, bool overwrite, const std::set<std::string>& may_change = {});

// A check for numbers from low to high. Unlike CLI::Range, it rejects NaN.
CLI::Validator numbers(double low, double high);

// A check for seeds: CLI11 would wrap negative ones.
CLI::Validator seeds();

// Adds an option for a count of one or more.
void add_count(CLI::App* command, const std::string& name, std::int64_t& value, const std::string& help);

struct StudyArguments {
  std::string study;        // its name, "vib"
  std::string folder = {};  // -o
  bool resume = false, overwrite = false;
  std::uint64_t seed = 1;
  std::string device = "cpu";
  bool device_given = false;
  double minutes = 0;  // stop after this many; 0: run to the end
  lab::LogLines lines = lab::LogLines::steps;
  std::set<std::string> may_change = {"--minutes", "--device"};  // with --resume
  const CLI::App* command = nullptr;

  void offer(CLI::App* command);
  // Throws Error if open() would refuse, before anything is read or written.
  void require_place() const;
  // A new folder with these options, or an existing one to resume, which keeps the options it began with, except for
  // the device if one is given.
  lab::StudyFolder open(const lab::StudyFolder::Json& options) const;
  // " --device cuda": the given options among those that may change, because the folder does not store them.
  std::string given_again() const;

 private:
  lab::ExistingFolder existing() const {
    return overwrite ? lab::ExistingFolder::overwrite : lab::ExistingFolder::refuse;
  }
};

// Shows progress on standard error; Ctrl-C stops the study after the current step. run() returns whether the study has
// finished; if not, an Error says how to continue.
void run_study(const StudyArguments& arguments, const std::function<bool(const lab::StudyCallbacks&)>& run);

}  // namespace isentropic::cli
