// Results of the study, part by part: tables, sentences, plots and numbers, for the terminal, a page and JSON.
//
// Differences are those of paired.hpp: mean ± standard error over seeds, and "none" inside the spread. No part assumes
// the sign of what it measures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/dynamics/course.hpp"
#include "lab/dynamics/study.hpp"
#include "lab/paired.hpp"
#include "report/page.hpp"
#include "report/plot.hpp"

namespace isentropic::lab::dynamics {

struct Section {
  std::string name, title, question;
  std::vector<report::DataTable> tables = {};
  std::vector<std::string> findings = {};
  std::vector<report::Plot> plots = {};
  std::vector<report::HeatMap> maps = {};
  nlohmann::ordered_json numbers = {};
};

Section entropy_section(const Study& study, const Courses& courses);
Section spread_section(const Study& study, const Courses& courses);
Section regulariser_section(const Study& study, const Courses& courses);
Section target_section(const Study& study, const Courses& courses);
std::vector<Section> sections_of(const Study& study, const Courses& courses);

std::string text_of(const std::vector<Section>& sections);
std::string page_of(const Study& study, const std::vector<Section>& sections);
std::string picture_of(const Section& section);  // SVG
nlohmann::ordered_json results_of(const Study& study, const Courses& courses, const std::vector<Section>& sections);

// ---- shared by the parts ----

// "rises", "falls" or, inside the spread, "stays".
std::string direction(const Paired& change);
nlohmann::ordered_json json_of(const Paired& difference);

// The mean over seeds of a quantity of every point, against the step.
template <class Number>
report::PlotCurve curve_of(const Courses& courses, const Setting& setting, const std::string& label, Number&& number) {
  report::PlotCurve out{.label = label};
  const std::vector<const Course*> runs = courses.of(setting);
  for (std::size_t i = 0; i < runs.front()->points.size(); ++i) {
    double sum = 0;
    for (const Course* run : runs) sum += number(run->points[i]);
    out.x.push_back(static_cast<double>(runs.front()->points[i].step));
    out.y.push_back(sum / static_cast<double>(runs.size()));
  }
  return out;
}

// Steps until the training loss reaches that of the plain model with the same seed after half of its steps, in the
// order of the seeds.
std::vector<double> steps_to_loss(const Study& study, const Courses& courses, const Setting& setting);

}  // namespace isentropic::lab::dynamics
