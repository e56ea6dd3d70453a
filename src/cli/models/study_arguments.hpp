// What every study is asked: a folder, whether to go on in it, a seed, a device. And how it tells of itself.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <set>
#include <string>

#include "lab/study_folder.hpp"

namespace isentropic::cli {

// UsageError where --resume was given beside --overwrite or beside options that do not count then: a study keeps those
// that it began with.
void require_alone(const CLI::App& command, bool resume, bool overwrite, const std::set<std::string>& may_change = {});

struct StudyArguments {
  std::string study;        // its name, "vib"
  std::string folder = {};  // -o
  bool resume = false, overwrite = false;
  std::uint64_t seed = 1;
  std::string device = "cpu";
  bool device_given = false;
  double minutes = 0;  // it stops after so many; 0: at its end
  lab::LogLines lines = lab::LogLines::steps;
  std::set<std::string> may_change = {"--minutes", "--device"};  // when it goes on
  const CLI::App* command = nullptr;

  void offer(CLI::App* command);
  // Error where open() will refuse what is asked, before anything is read or written.
  void require_place() const;
  // A new folder with these options, or one to go on with, whose options those are that it began with, but for the
  // device where one is given.
  lab::StudyFolder open(const lab::StudyFolder::Json& options) const;
  // " --device cuda": what was given of what may change, which the folder does not keep.
  std::string given_again() const;

 private:
  lab::ExistingFolder existing() const {
    return overwrite ? lab::ExistingFolder::overwrite : lab::ExistingFolder::refuse;
  }
};

// Progress on standard error; Ctrl-C ends the study after its step. run() returns whether the study has ended: where
// not, an Error says how to go on.
void run_study(const StudyArguments& arguments, const std::function<bool(const lab::StudyCallbacks&)>& run);

}  // namespace isentropic::cli
