// Trains every setting of a study with every seed.
#include "lab/dynamics/study.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "lab/dynamics/run.hpp"
#include "lab/study_options.hpp"
#include "model/names.hpp"

namespace isentropic::lab::dynamics {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Study, texts, fingerprints, parts, seeds, steps, batch, length, layers, heads, width,
                                   vocabulary, learning_rate, weight_decay, held_out, points, validation_tokens, gains,
                                   entropy_weights, label_smoothings, score_noise, token_noise, targets, other_lengths,
                                   target_steps, seed, device, bfloat16)

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kSaveEvery = 200;
constexpr double kSolvingCost = 3;  // relative cost of a step that solves for an entropy, about; for the forecast only

template <class T>
void require_range(const char* name, T value, T low, T high) {
  if (!(value >= low && value <= high)) throw Error(name, fmt::format("{}", value), fmt::format("{} to {}", low, high));
}

// Where the runs are in a study, whose steps are numbered consecutively over all runs.
class Schedule {
 public:
  Schedule(const Study& study, const std::vector<Course>& courses) {
    for (const Course& course : courses) {
      const Setting& setting = course.setting;
      const std::int64_t rows = std::max<std::int64_t>(1, study.batch * study.length / setting.length);
      first_.push_back(first_.empty() ? 0 : first_.back() + steps_.back());
      steps_.push_back(setting.steps);
      cost_.push_back(static_cast<double>(rows * setting.length) * (setting.target_entropy > 0 ? kSolvingCost : 1));
      all_ += cost_.back() * static_cast<double>(setting.steps);
    }
  }

  std::size_t runs() const { return first_.size(); }
  std::int64_t first(std::size_t run) const { return first_[run]; }
  std::int64_t end(std::size_t run) const { return first_[run] + steps_[run]; }

  double share(std::size_t run, std::int64_t step) const {
    double done = cost_[run] * static_cast<double>(step - first_[run]);
    for (std::size_t i = 0; i < run; ++i) done += cost_[i] * static_cast<double>(steps_[i]);
    return done / all_;
  }

 private:
  std::vector<std::int64_t> first_, steps_;
  std::vector<double> cost_;  // per step
  double all_ = 0;
};

void log_point(StudyFolder& folder, std::int64_t step, std::size_t number, const Course& course) {
  Json line = {{"step", step}, {"run", number}};
  line.update(line_of(course, course.last()));
  folder.log(line);
}

}  // namespace

void check_study(const Study& study) {
  for (const std::string& part : study.parts)
    if (part != "entropy" && part != "spread" && part != "regulariser" && part != "target")
      throw Error("parts", "'" + part + "'", "entropy, spread, regulariser or target");
  if (study.parts.empty()) throw Error("parts", "none", "entropy, spread, regulariser or target");
  model::device_named("device", study.device);
  if (study.heads < 1 || study.width % (2 * study.heads) != 0)
    throw Error("width", study.width, "a multiple of twice the heads, " + std::to_string(2 * study.heads));
  require_range<std::int64_t>("length", study.length, 4, 1 << 20);
  require_range<std::int64_t>("vocabulary", study.vocabulary, 260, 1 << 20);
  for (const double gain : study.gains) {
    require_range("gain", gain, 1e-3, 1e3);
    if (gain == 1) throw Error("gain", "1", "others: the plain model, whose gain is 1, is always there");
  }
  for (const double weight : study.entropy_weights) require_range("entropy weight", weight, 1e-9, 1e3);
  for (const double smoothing : study.label_smoothings) require_range("label smoothing", smoothing, 1e-9, 0.99);
  require_range("score noise", study.score_noise, 0.0, 1e3);
  require_range("token noise", study.token_noise, 0.0, 1.0);
  for (const double target : study.targets) require_range("target", target, 1e-3, 30.0);
  for (const std::int64_t length : study.other_lengths) {
    require_range<std::int64_t>("other length", length, 4, 1 << 20);
    if (length == study.length) throw Error("other length", length, "others than the length");
  }
}

Study with_texts(Study study) {
  study.fingerprints.clear();
  for (const std::string& path : study.texts) study.fingerprints.push_back(fingerprint(read_text(path)));
  return study;
}

Json options_of(const Study& study) { return options_to_json(study); }

Study study_of(const Json& options) { return options_from_json<Study>(options); }

std::optional<Courses> run_study(StudyFolder& folder, std::optional<Material> material,
                                 const StudyCallbacks& callbacks) {
  const Study study = study_of(folder.options());
  check_study(study);
  Courses courses(study);
  for (const Json& line : folder.lines()) read_line(line, &courses.all().at(line.at("run").get<std::size_t>()));
  const Schedule schedule(study, courses.all());
  std::int64_t step = folder.steps();
  std::size_t number = 0;
  while (number < schedule.runs() && schedule.end(number) <= step) ++number;
  if (number == schedule.runs()) return courses;
  if (!material) material = read_material(study, callbacks);
  for (; number < schedule.runs(); ++number) {
    Course& course = courses.all()[number];
    Run run(study, *material, course.setting, course.seed);
    if (step > schedule.first(number)) folder.restore(run.state()), run.go_on_from(step - schedule.first(number));
    while (step < schedule.end(number)) {
      const std::optional<Point> point = run.step();
      const bool ends = ++step == schedule.end(number), stops = callbacks.stops();
      if (point) course.points.push_back(*point);
      if (ends && course.setting.target_entropy == 0) {  // no scale is solved for under noise
        course.score_noise = run.rise_under({.scores = study.score_noise});
        course.token_noise = run.rise_under({.tokens = study.token_noise});
      }
      if (point) log_point(folder, step, number, course);
      callbacks.progress(
          schedule.share(number, step),
          fmt::format("{}, seed {}, loss {:.3f}", course.setting.label(study), course.seed, run.last_loss()));
      if (ends || stops || step % kSaveEvery == 0) folder.save(run.state(), step);
      if (stops && step < schedule.end(schedule.runs() - 1)) return {};
    }
  }
  return courses;
}

}  // namespace isentropic::lab::dynamics
