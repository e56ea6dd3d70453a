// Generates the built-in task, and reads others.
#include "lab/plane/task.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "base/mix.hpp"
#include "base/random.hpp"
#include "io/mat.hpp"
#include "io/read.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/layer_information.hpp"

namespace isentropic::lab {
namespace {

using information::Table;

constexpr std::size_t kBits = 12, kMostClasses = 1000, kFewestRows = 10;
constexpr std::uint64_t kTaskSeed = 12, kSplitSeed = 13;

double form(const Table& matrix, const std::vector<double>& linear, std::span<const double> x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += .01 * linear[i] * x[i];
    for (std::size_t j = 0; j < x.size(); ++j) sum += x[i] * matrix(i, j) * x[j];
  }
  return sum;
}

// Subtracts the median and divides by the standard deviation.
std::vector<double> standardised(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const double median = (sorted[sorted.size() / 2] + sorted[(sorted.size() - 1) / 2]) / 2;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double f : values) squares += (f - mean) * (f - mean);
  std::vector<double> out;
  for (const double f : values) out.push_back((f - median) / std::sqrt(squares / count));
  return out;
}

PlaneTask twelve_bits() {
  Random random(kTaskSeed);
  Table matrix(kBits, kBits);
  for (std::size_t i = 0; i < kBits; ++i)
    for (std::size_t j = 0; j < kBits; ++j) {
      const double drawn = random.normal();
      matrix(i, j) += drawn, matrix(j, i) += drawn;
    }
  const std::vector<double> linear = random.normals(kBits);
  PlaneTask out{.name = "12 bits", .inputs = Table(std::size_t{1} << kBits, kBits)};
  std::vector<double> forms;
  for (std::size_t x = 0; x < out.inputs.rows; ++x) {
    for (std::size_t bit = 0; bit < kBits; ++bit) out.inputs(x, bit) = (x >> bit & 1) != 0 ? 1 : -1;
    forms.push_back(form(matrix, linear, out.inputs.row(x)));
  }
  for (const double f : standardised(forms)) out.labels.push_back(random.uniform() < (1 + std::tanh(4 * f)) / 2);
  return out;
}

// Numbers the distinct values 0, 1, ... in increasing order.
void set_labels(const std::string& path, const std::vector<double>& values, PlaneTask* task) {
  std::map<double, std::int64_t> numbers;
  for (const double value : values) numbers[value] = 0;
  std::int64_t next = 0;
  for (auto& [value, number] : numbers) number = next++;
  if (numbers.size() < 2 || numbers.size() > kMostClasses)
    throw Error("the label of " + path, "of " + std::to_string(numbers.size()) + " values",
                "2 to " + std::to_string(kMostClasses));
  for (const double value : values) task->labels.push_back(numbers[value]);
}

PlaneTask from_mat(const std::string& path) {
  PlaneTask out{.name = path};
  const std::vector<io::NamedMatrix> matrices = io::read_mat(path);
  const auto is_vector = [](const io::NamedMatrix& m) { return m.table.rows == 1 || m.table.columns == 1; };
  const auto inputs = std::ranges::find_if_not(matrices, is_vector);
  if (inputs == matrices.end()) throw Error(path, "without a matrix of inputs", "one, an input in each row");
  const auto label = std::ranges::find_if(
      matrices, [&](const io::NamedMatrix& m) { return is_vector(m) && m.table.values.size() == inputs->table.rows; });
  if (label == matrices.end()) throw Error(path, "without a label for each row", "a vector of as many numbers");
  out.inputs = inputs->table;
  set_labels(path, label->table.values, &out);
  return out;
}

PlaneTask from_table(const std::string& path) {
  PlaneTask out{.name = path};
  const io::Samples samples = io::read(path, {{"columns", "*"}}, {.content = io::Content::anything});
  const Table& all = samples.parts.front().table;
  if (all.columns < 2) throw Error(path, "of one column", "inputs and, in the last column, a label");
  out.inputs = Table(all.rows, all.columns - 1);
  std::vector<double> labels;
  for (std::size_t r = 0; r < all.rows; ++r) {
    std::copy_n(all.row(r).begin(), out.inputs.columns, out.inputs.row(r).begin());
    labels.push_back(all(r, all.columns - 1));
  }
  set_labels(path, labels, &out);
  return out;
}

void split(PlaneTask* task) {
  std::vector<std::int64_t> rows(task->labels.size());
  std::iota(rows.begin(), rows.end(), 0);
  Random(kSplitSeed).shuffle(&rows);
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() * 4 / 5);
  task->train.assign(rows.begin(), middle);
  task->test.assign(middle, rows.end());
}

}  // namespace

double PlaneTask::input_bits() const { return information::layer_information({}, inputs, labels).input; }
double PlaneTask::label_bits() const { return information::layer_information({}, inputs, labels, labels).input; }

std::uint64_t PlaneTask::fingerprint() const {
  std::uint64_t out = 0;
  for (const double x : inputs.values) out = mix({out, std::bit_cast<std::uint64_t>(x)});
  for (const std::int64_t y : labels) out = mix({out, static_cast<std::uint64_t>(y)});
  return out;
}

PlaneTask plane_task(const std::string& path) {
  const bool matlab = std::filesystem::path(path).extension() == ".mat";
  PlaneTask out = path.empty() ? twelve_bits() : matlab ? from_mat(path) : from_table(path);
  if (out.inputs.rows < kFewestRows)
    throw Error(path, "of " + std::to_string(out.inputs.rows) + " rows", "at least " + std::to_string(kFewestRows));
  if (std::ranges::any_of(out.inputs.values, [](double x) { return !std::isfinite(x); }))
    throw Error(path, "with numbers that are not finite", "finite ones");
  out.classes = *std::ranges::max_element(out.labels) + 1;
  split(&out);
  return out;
}

}  // namespace isentropic::lab
