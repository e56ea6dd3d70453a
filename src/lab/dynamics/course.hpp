// The course of one training run, and the numbers that parts of the study take from it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/dynamics/settings.hpp"

namespace isentropic::lab::dynamics {

// Means over the steps since the point before; the first point is the first step, of a model that has learnt nothing.
struct Point {
  std::int64_t step = 0;
  double loss = 0, gradient_norm = 0;        // nats for each token, without regulariser or smoothing; before clipping
  double validation_loss = 0;                // after the step
  double nats = 0;                           // mean H of all heads
  std::vector<std::vector<double>> entropy;  // H / log k by layer and head, over rows that see k >= 2 keys

  double mean_entropy() const;  // of all heads
  double mean_entropy(std::size_t layer) const;
};

struct Course {
  Setting setting;
  std::uint64_t seed = 0;
  std::vector<Point> points;
  // What noise adds to the last validation loss; 0 under a target entropy, where it is not measured.
  double score_noise = 0, token_noise = 0;

  const Point& first() const { return points.front(); }
  const Point& last() const { return points.back(); }
  const Point& turn() const;                  // of the lowest validation loss
  const Point& at_share(double share) const;  // of its steps: the nearest point
  double best_loss() const { return turn().validation_loss; }
  double last_loss() const { return last().validation_loss; }
  double overfitting() const { return last_loss() - best_loss(); }
  // At which the training loss first reaches `loss`, linear between points; the number of steps where it never does.
  double steps_to(double loss) const;
};

// One line of a log: a point of a run. The last one has the noise as well.
nlohmann::ordered_json line_of(const Course& course, const Point& point);
void read_line(const nlohmann::ordered_json& line, Course* course);

// All runs of a study, seeds of a setting after each other.
class Courses {
 public:
  explicit Courses(const Study& study);

  std::vector<Course>& all() { return all_; }
  const std::vector<Course>& all() const { return all_; }
  // In the order of the seeds.
  std::vector<const Course*> of(const Setting& setting) const;

  template <class Number>  // of a course
  std::vector<double> numbers(const Setting& setting, Number&& number) const {
    std::vector<double> out;
    for (const Course* course : of(setting)) out.push_back(number(*course));
    return out;
  }

 private:
  std::vector<Course> all_;
};

double mean_of(const std::vector<double>& values);
// Pearson's; not a number for fewer than three pairs, and where one of the two does not vary.
double correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace isentropic::lab::dynamics
