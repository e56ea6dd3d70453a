// Options of studies that compare scale laws over several seeds, and how their commands run.
#pragma once

#include <memory>
#include <optional>

#include "cli/models/study_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/terminal.hpp"
#include "lab/variants.hpp"
#include "lab/words.hpp"

namespace isentropic::cli {

template <class Study>
struct VariantArguments {
  StudyArguments common;
  Study study = {};
};

// Adds the options of the networks and their training, and those common to all studies.
void offer_variants(CLI::App* command, lab::VariantOptions& options, StudyArguments& common);

// Study must have a member `variants`, and its namespace check_study, learners_of, page, picture and text_tables.
template <class Study>
void run_variants(VariantArguments<Study>& arguments) {
  Study study = arguments.study;
  study.variants.seed = arguments.common.seed;
  study.variants.device = arguments.common.device;
  for (auto* list : {&study.variants.scales, &study.variants.learnt_scales}) *list = lab::joined_words(*list);
  std::optional<lab::StudyFolder> folder;
  if (arguments.common.resume) {
    folder = arguments.common.open({});
    study = lab::options_from_json<Study>(folder->options());
    check_study(study);
  } else {
    try {
      check_study(study);
    } catch (const Error& error) {
      throw UsageError(error.what());
    }
  }
  // Reads the study's data, if any, before the folder is created; a finished study needs none.
  const bool has_ended = folder && folder->steps() >= lab::steps_of(study.variants);
  const lab::MakeLearner make = has_ended ? nullptr : learners_of(study);
  if (!folder) folder = arguments.common.open(lab::options_to_json(study));
  run_study(arguments.common, [&](const lab::StudyCallbacks& callbacks) {
    const auto logs = lab::train_variants(*folder, callbacks, study.variants, make);
    if (!logs) return false;
    folder->write_results(lab::results_of(arguments.common.study, folder->options(), *logs));
    folder->write("page.html", page(study, *logs));
    folder->write(arguments.common.study + ".svg", picture(study, *logs));
    print(text_tables(study, *logs));
    return true;
  });
}

}  // namespace isentropic::cli
