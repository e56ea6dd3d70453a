// Turns activations into symbols and counts them, or adds noise and uses distances.
#include "isentropic/information/layer_information.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "base/checks.hpp"
#include "base/random.hpp"
#include "information/distributions/intervals.hpp"
#include "information/distributions/rows.hpp"
#include "information/distributions/symbols.hpp"
#include "information/distributions/validate.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/noise_bounds.hpp"

namespace isentropic::information {
namespace {

using Kind = LayerEstimator::Kind;
using Labels = std::span<const std::int64_t>;

constexpr std::size_t kRowsWithNoise = 1024;  // time is quadratic in this

struct NamedKind {
  const char* name;
  Kind kind;
};
constexpr std::array kKinds = {NamedKind{"exact", Kind::exact},
                               NamedKind{"width", Kind::width},
                               NamedKind{"count", Kind::count},
                               NamedKind{"equal_mass", Kind::equal_mass},
                               NamedKind{"kolchinsky_upper", Kind::kolchinsky_upper},
                               NamedKind{"kolchinsky_lower", Kind::kolchinsky_lower},
                               NamedKind{"noise", Kind::noise}};

bool counts_bins(Kind kind) { return kind == Kind::count || kind == Kind::equal_mass; }

// ---- symbols ----

double bits_of(const Symbols& symbols) {
  std::vector<double> shares;
  for (const std::int64_t n : symbols.counts())
    shares.push_back(static_cast<double>(n) / static_cast<double>(symbols.of_row.size()));
  return to_bits(entropy(shares));
}

double bits_shared(const Symbols& a, const Symbols& b) { return bits_of(a) + bits_of(b) - bits_of(joined(a, b)); }

template <class Map>
Symbols symbols_after(Table activations, Map&& map) {
  for (double& t : activations.values) t = map(t);
  return symbols_of(activations);
}

Symbols symbols_in_range(const Table& activations, double bins) {
  const auto [least, most] = std::minmax_element(activations.values.begin(), activations.values.end());
  const double low = *least, width = *most - *least;
  if (!(width > 0)) return symbols_of(Table(activations.rows, 0));  // a layer of dead units has no range
  return symbols_after(activations, [&](double t) { return std::min(std::floor((t - low) / width * bins), bins - 1); });
}

Symbols symbols_of_equal_mass(const Table& activations, int bins) {
  Table out = activations;
  std::vector<double> unit(activations.rows);
  for (std::size_t c = 0; c < activations.columns; ++c) {
    for (std::size_t r = 0; r < activations.rows; ++r) unit[r] = activations(r, c);
    const std::vector<double> intervals = equal_mass_intervals(unit, bins);
    for (std::size_t r = 0; r < activations.rows; ++r) out(r, c) = intervals[r];
  }
  return symbols_of(out);
}

Symbols symbols_by(const LayerEstimator& estimator, const Table& activations) {
  switch (estimator.kind) {
    case Kind::width:
      return symbols_after(activations, [&](double t) { return std::floor(t / estimator.parameter); });
    case Kind::count:
      return symbols_in_range(activations, estimator.parameter);
    case Kind::equal_mass:
      return symbols_of_equal_mass(activations, static_cast<int>(estimator.parameter));
    default:
      return symbols_after(activations, [](double t) { return static_cast<double>(static_cast<float>(t)); });
  }
}

LayerInformation by_symbols(const LayerEstimator& estimator, const Table& activations, Labels labels, Labels inputs) {
  const Symbols symbols = symbols_by(estimator, activations);
  return {inputs.empty() ? bits_of(symbols) : bits_shared(symbols, symbols_of(inputs)),
          bits_shared(symbols, symbols_of(labels))};
}

// ---- noise ----

// The same rows for every layer with this number of inputs, so that layers are compared on the same inputs.
std::vector<std::size_t> some_rows(std::size_t rows) {
  std::vector<std::size_t> out(rows);
  std::iota(out.begin(), out.end(), std::size_t{0});
  if (rows <= kRowsWithNoise) return out;
  Random(1).shuffle(&out);
  out.resize(kRowsWithNoise);
  std::sort(out.begin(), out.end());
  return out;
}

// I(X;T) of rows f_i with drawn noise n_i: the mean of -log((1/N) sum_j exp((|n_i|^2 - |n_i + f_i - f_j|^2) / 2 V)).
double drawn_information(const Table& outputs, const Table& noise, double variance, Executor& executor) {
  std::vector<double> logs(outputs.rows);
  executor.parallel_for(static_cast<std::int64_t>(outputs.rows), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < outputs.rows; ++j) {
        double farther = 0;
        for (std::size_t c = 0; c < outputs.columns; ++c) {
          const double apart = outputs(i, c) - outputs(j, c);
          farther += apart * (apart + 2 * noise(i, c));
        }
        sum += std::exp(-farther / (2 * variance));
      }
      logs[i] = std::log(static_cast<double>(outputs.rows) / sum);
    }
  });
  return std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
}

class NoisyLayer {
 public:
  NoisyLayer(const LayerEstimator& estimator, const Table& activations, Executor& executor)
      : estimator_(estimator),
        executor_(executor),
        rows_(some_rows(activations.rows)),
        outputs_(rows_of(activations, rows_)),
        all_(bits(outputs_, noise_for(outputs_))) {}

  double all() const { return all_; }
  // I(X;T) - I(X;T|Y).
  double about(Labels labels) const {
    std::map<std::int64_t, std::vector<std::size_t>> rows_with;
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_with[labels[rows_[i]]].push_back(i);
    const Table noise = noise_for(outputs_);
    double within = 0;
    for (const auto& [label, rows] : rows_with)
      within += static_cast<double>(rows.size()) * bits(rows_of(outputs_, rows), rows_of(noise, rows));
    return all_ - within / static_cast<double>(rows_.size());
  }

 private:
  Table noise_for(const Table& outputs) const {
    if (estimator_.kind != Kind::noise) return Table(outputs.rows, 0);  // the bounds need no draws
    Random random(2);
    return {outputs.rows, outputs.columns,
            random.normals(outputs.rows * outputs.columns, std::sqrt(estimator_.parameter))};
  }
  double bits(const Table& outputs, const Table& noise) const {
    if (estimator_.kind == Kind::noise)
      return to_bits(drawn_information(outputs, noise, estimator_.parameter, executor_));
    const InformationBounds found = noisy_layer_input_information(outputs, estimator_.parameter, {}, executor_);
    return to_bits(estimator_.kind == Kind::kolchinsky_upper ? found.upper : found.lower);
  }

  const LayerEstimator& estimator_;
  Executor& executor_;
  std::vector<std::size_t> rows_;
  Table outputs_;
  double all_;
};

}  // namespace

LayerEstimator LayerEstimator::named(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto found = std::ranges::find(kKinds, text.substr(0, colon), &NamedKind::name);
  std::string names;
  for (const NamedKind& kind : kKinds)
    names += (names.empty() ? "" : ", ") + std::string(kind.name) +
             (kind.kind == Kind::exact   ? ""
              : counts_bins(kind.kind)   ? ":30"
              : kind.kind == Kind::width ? ":0.5"
                                         : ":0.1");
  const auto refuse = [&] { throw Error("estimator", "'" + text + "'", "one of " + names); };
  if (found == kKinds.end() || (found->kind == Kind::exact) != (colon == text.size())) refuse();
  LayerEstimator out{found->kind, 0};
  if (out.kind == Kind::exact) return out;
  const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, out.parameter);
  constexpr double kMostBins = 1e6;
  if (error != std::errc() || stop != end || !(out.parameter > 0) || !std::isfinite(out.parameter)) refuse();
  if (counts_bins(out.kind) && (out.parameter != std::floor(out.parameter) || out.parameter > kMostBins)) refuse();
  return out;
}

std::string LayerEstimator::name() const {
  const std::string word = std::ranges::find(kKinds, kind, &NamedKind::kind)->name;
  return kind == Kind::exact ? word : word + ":" + to_text(parameter);
}

std::vector<LayerEstimator> usual_layer_estimators(double noise_variance) {
  return {{Kind::exact, 0},
          {Kind::width, .5},
          {Kind::width, .07},
          {Kind::count, 30},
          {Kind::equal_mass, 30},
          {Kind::kolchinsky_upper, noise_variance},
          {Kind::kolchinsky_lower, noise_variance},
          {Kind::noise, noise_variance}};
}

LayerInformation layer_information(const LayerEstimator& estimator, const Table& activations, Labels labels,
                                   Labels inputs, Executor& executor) {
  require_samples("activations", activations);
  require_length("labels", labels.size(), activations.rows, "one for each row");
  if (!inputs.empty()) require_length("inputs", inputs.size(), activations.rows, "one for each row");
  switch (estimator.kind) {
    case Kind::kolchinsky_upper:
    case Kind::kolchinsky_lower:
    case Kind::noise: {
      const NoisyLayer layer(estimator, activations, executor);
      return {inputs.empty() ? layer.all() : layer.about(inputs), layer.about(labels)};
    }
    default:
      return by_symbols(estimator, activations, labels, inputs);
  }
}

}  // namespace isentropic::information
