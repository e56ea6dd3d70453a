// Reads and writes courses, and derives quantities from them.
#include "lab/dynamics/course.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/dynamics/study.hpp"

namespace isentropic::lab::dynamics {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double a_mean = mean_of(a), b_mean = mean_of(b);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - a_mean) * (b[i] - b_mean);
    aa += (a[i] - a_mean) * (a[i] - a_mean);
    bb += (b[i] - b_mean) * (b[i] - b_mean);
  }
  const double spread = std::sqrt(aa * bb);
  return a.size() < 3 || !(spread > 1e-12) ? std::nan("") : ab / spread;
}

double Point::mean_entropy(std::size_t layer) const { return mean_of(entropy[layer]); }

double Point::mean_entropy() const {
  std::vector<double> layers;
  for (const auto& heads : entropy) layers.push_back(mean_of(heads));
  return mean_of(layers);
}

const Point& Course::turn() const { return *std::ranges::min_element(points, {}, &Point::validation_loss); }

const Point& Course::at_share(double share) const {
  const double step = share * static_cast<double>(setting.steps);
  return *std::ranges::min_element(
      points, {}, [&](const Point& point) { return std::abs(static_cast<double>(point.step) - step); });
}

double Course::steps_to(double loss) const {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].loss > loss) continue;
    const auto step = static_cast<double>(points[i].step);
    if (i == 0) return step;
    const auto before = static_cast<double>(points[i - 1].step);
    return before + (step - before) * (points[i - 1].loss - loss) / (points[i - 1].loss - points[i].loss);
  }
  return static_cast<double>(setting.steps);
}

nlohmann::ordered_json line_of(const Course& course, const Point& point) {
  nlohmann::ordered_json out = {{"at", point.step},
                                {"loss", point.loss},
                                {"gradient_norm", point.gradient_norm},
                                {"validation_loss", point.validation_loss},
                                {"nats", point.nats},
                                {"entropy", point.entropy}};
  if (point.step < course.setting.steps) return out;
  out["score_noise"] = course.score_noise;
  out["token_noise"] = course.token_noise;
  return out;
}

void read_line(const nlohmann::ordered_json& line, Course* course) {
  course->points.push_back({line.at("at"), line.at("loss"), line.at("gradient_norm"), line.at("validation_loss"),
                            line.at("nats"), line.at("entropy").get<std::vector<std::vector<double>>>()});
  course->score_noise = line.value("score_noise", 0.0);
  course->token_noise = line.value("token_noise", 0.0);
}

Courses::Courses(const Study& study) {
  for (const Setting& setting : settings_of(study))
    for (std::int64_t start = 0; start < study.seeds; ++start)
      all_.push_back({setting, study.seed + static_cast<std::uint64_t>(start), {}});
}

std::vector<const Course*> Courses::of(const Setting& setting) const {
  std::vector<const Course*> out;
  for (const Course& course : all_)
    if (course.setting == setting) out.push_back(&course);
  return out;
}

}  // namespace isentropic::lab::dynamics
