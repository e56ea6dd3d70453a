// The course of one training run, and the quantities that parts of the study derive from it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/dynamics/settings.hpp"

namespace isentropic::lab::dynamics {

// Means over the steps since the previous point; the first point is the first step, of the untrained model.
struct Point {
  std::int64_t step = 0;
  double loss = 0, gradient_norm = 0;        // nats per token, without regulariser or smoothing; before clipping
  double validation_loss = 0;                // after the step
  double nats = 0;                           // mean H over all heads
  std::vector<std::vector<double>> entropy;  // H / log k by layer and head, over rows that see k >= 2 keys

  double mean_entropy() const;  // over all heads
  double mean_entropy(std::size_t layer) const;
};

struct Course {
  Setting setting;
  std::uint64_t seed = 0;
  std::vector<Point> points;
  // Increase of the last validation loss under noise; 0 under a target entropy, where it is not measured.
  double score_noise = 0, token_noise = 0;

  const Point& first() const { return points.front(); }
  const Point& last() const { return points.back(); }
  const Point& turn() const;                  // the point with the lowest validation loss
  const Point& at_share(double share) const;  // the point nearest to this share of its steps
  double best_loss() const { return turn().validation_loss; }
  double last_loss() const { return last().validation_loss; }
  double overfitting() const { return last_loss() - best_loss(); }
  // The step at which the training loss first reaches `loss`, linear between points; the number of steps if never.
  double steps_to(double loss) const;
};

// One log line: a point of a run. The last one also has the effect of noise.
nlohmann::ordered_json line_of(const Course& course, const Point& point);
void read_line(const nlohmann::ordered_json& line, Course* course);

// All runs of a study; the seeds of a setting follow one another.
class Courses {
 public:
  explicit Courses(const Study& study);

  std::vector<Course>& all() { return all_; }
  const std::vector<Course>& all() const { return all_; }
  // In the order of the seeds.
  std::vector<const Course*> of(const Setting& setting) const;

  template <class Number>  // Number: a function of a course
  std::vector<double> numbers(const Setting& setting, Number&& number) const {
    std::vector<double> out;
    for (const Course* course : of(setting)) out.push_back(number(*course));
    return out;
  }

 private:
  std::vector<Course> all_;
};

double mean_of(const std::vector<double>& values);
// Pearson's; NaN for fewer than three pairs, or if one of the two does not vary.
double correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace isentropic::lab::dynamics
