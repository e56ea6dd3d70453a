// The information plane: I(X;Z) and I(Z;Y) of a layer, at the start and during training: def10.4.5, thm10.4.3.
#include <algorithm>
#include <array>
#include <map>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/layer_estimators.hpp"
#include "experiments/tools/one_unit.hpp"
#include "experiments/tools/random_laws.hpp"
#include "experiments/tools/random_network.hpp"
#include "experiments/tools/tabular_code.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "ledger/bottleneck/problems.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

// ---- def 10.4.5 ----

void points_lie_under_the_diagonal(Check& check) {
  Random& random = check.random();
  const auto size = [&] { return static_cast<std::size_t>(random.integer(2, 6)); };
  std::int64_t above = 0, negative = 0;
  for (std::int64_t t = 0; t < check.effort(3000, 20000); ++t) {
    const Table joint = random_joint(random, size(), size(), .4),
                encoder = random_channel(random, joint.rows, size(), .3);
    const double x = mutual_information(joint_of(row_marginal(joint), encoder));
    const double y = mutual_information(joint_of_code(joint, encoder));
    above += y > std::min(x, entropy(column_marginal(joint))) + 1e-12;
    negative += y < -1e-12;
  }
  check.never("I(Z;Y) above min(I(X;Z), H(Y))", above);
  check.never("I(Z;Y) below 0", negative);
}

// Bits of layers 1 ... 5 before training, averaged over this many networks.
struct InitialLayers {
  Unit unit;
  LayerEstimator estimator;
  std::int64_t networks;
  std::array<double, kLayers> bits;
};

const std::vector<InitialLayers> kInitialLayers = {
    {Unit::relu, LayerEstimator::exact, 3, {11.99, 11.87, 10.69, 10.36, 10.22}},
    {Unit::relu, LayerEstimator::bins_of_width, 3, {9.94, 3.42, 1.13, .12, .00}},
    {Unit::relu, LayerEstimator::exact, 5, {11.99, 11.92, 11.18, 10.98, 9.85}},
    {Unit::relu, LayerEstimator::bins_of_width, 5, {10.09, 3.68, 1.22, .36, .17}},
    {Unit::tanh, LayerEstimator::exact, 5, {12, 12, 12, 12, 12}},
    {Unit::tanh, LayerEstimator::bins_of_width, 5, {11.91, 9.67, 5.95, 4.09, 2.95}},
    {Unit::tanh, LayerEstimator::bins_of_width, 3, {11.92, 9.81, 6.01, 3.79, 2.92}},
};

// The other estimators and the linear network, in the thorough tier only.
const std::vector<InitialLayers> kMoreInitialLayers = {
    {Unit::relu, LayerEstimator::bins_of_range, 5, {11.95, 10.78, 7.79, 4.83, 3.98}},
    {Unit::relu, LayerEstimator::bins_of_range, 3, {11.93, 10.46, 6.96, 4.08, 3.75}},
    {Unit::relu, LayerEstimator::fixed_noise, 5, {8.37, 3.16, 1.18, .42, .23}},
    {Unit::relu, LayerEstimator::fixed_noise, 3, {8.19, 2.96, 1.02, .15, .04}},
    {Unit::relu, LayerEstimator::relative_noise, 5, {9.98, 9.48, 7.43, 5.15, 4.23}},
    {Unit::relu, LayerEstimator::relative_noise, 3, {9.97, 9.26, 6.78, 4.36, 3.74}},
    {Unit::tanh, LayerEstimator::bins_of_range, 5, {12, 12, 11.94, 10.71, 7.74}},
    {Unit::tanh, LayerEstimator::bins_of_range, 3, {12, 12, 11.96, 10.78, 7.86}},
    {Unit::tanh, LayerEstimator::fixed_noise, 5, {9.50, 5.77, 3.21, 1.78, 1.09}},
    {Unit::tanh, LayerEstimator::fixed_noise, 3, {9.58, 6.03, 3.33, 1.69, 1.14}},
    {Unit::tanh, LayerEstimator::relative_noise, 5, {10, 10, 9.93, 9.48, 7.88}},
    {Unit::tanh, LayerEstimator::relative_noise, 3, {10, 10, 9.95, 9.62, 8.15}},
    {Unit::linear, LayerEstimator::exact, 5, {12, 12, 12, 12, 12}},
    {Unit::linear, LayerEstimator::bins_of_range, 5, {12, 12, 11.87, 10.74, 8.15}},
    {Unit::linear, LayerEstimator::bins_of_width, 5, {12, 11.76, 9.24, 6.43, 4.47}},
    {Unit::linear, LayerEstimator::fixed_noise, 5, {9.98, 8.83, 6.04, 3.85, 2.64}},
    {Unit::linear, LayerEstimator::relative_noise, 5, {10, 10, 9.95, 9.48, 7.84}},
};

using LayerMeans = std::map<std::pair<Unit, LayerEstimator>, std::array<Mean, kLayers>>;

// Evaluates every estimator on the same networks.
LayerMeans measure_layers(const std::vector<InitialLayers>& wanted, std::int64_t networks, Random& random) {
  LayerMeans out;
  for (const InitialLayers& w : wanted) out[{w.unit, w.estimator}];
  for (std::int64_t t = 0; t < networks; ++t)
    for (Unit unit : {Unit::tanh, Unit::relu, Unit::linear}) {
      if (std::none_of(wanted.begin(), wanted.end(), [&](const InitialLayers& w) { return w.unit == unit; })) continue;
      const std::vector<Table> layers = random_network(unit, random);
      for (auto& [key, means] : out)
        for (std::size_t l = 0; key.first == unit && l < kLayers; ++l)
          means[l].add(layer_information(key.second, unit, layers[l]));
    }
  return out;
}

void compare_layers(Check& check, const std::vector<InitialLayers>& quoted, LayerMeans& measured) {
  for (const InitialLayers& q : quoted) {
    // Deep ReLU layers are either dead or alive: 60 networks do not show how much the mean of three varies.
    const std::size_t layers = q.unit == Unit::relu && !check.thorough() ? 2 : kLayers;
    for (std::size_t l = 0; l < layers; ++l)
      check.as_quoted(name(q.unit) + ", layer " + std::to_string(l + 1) + ", " + name(q.estimator) + ", against " +
                          std::to_string(q.networks) + " networks",
                      measured[{q.unit, q.estimator}][l], q.bits[l], q.networks, .005);
  }
}

void layers_at_the_start(Check& check) {
  LayerMeans measured = measure_layers(kInitialLayers, check.effort(60, 200), check.random());
  // "Little", read generously: less than a tenth of the maximum.
  for (std::size_t l = 0; l < kLayers; ++l)
    check.between("tanh, layer " + std::to_string(l + 1) + ": exact I(X;Z) in bits of 12",
                  measured[{Unit::tanh, LayerEstimator::exact}][l].mean(), check.choose(11.99, 0.),
                  check.choose(12.01, 1.2));
  check.at_least("ReLU, layer 5: exact less binned, bits, same networks",
                 measured[{Unit::relu, LayerEstimator::exact}][4].mean() -
                     measured[{Unit::relu, LayerEstimator::bins_of_width}][4].mean(),
                 5);
  compare_layers(check, kInitialLayers, measured);
  if (check.thorough()) {
    LayerMeans more = measure_layers(kMoreInitialLayers, 24, check.random());
    compare_layers(check, kMoreInitialLayers, more);
    measured.merge(more);
  }
  report::Plot plot{.title = "I(X;Z) before training: the estimator decides, not the network",
                    .x_label = "layer",
                    .y_label = "I(X;Z), bits"};
  for (const auto& [key, means] : measured) {
    plot.curves.push_back({name(key.first) + ", " + name(key.second), {1, 2, 3, 4, 5}});
    for (const Mean& m : means) plot.curves.back().y.push_back(m.mean());
  }
  check.plot(plot);
}

// ---- thm 10.4.3 ----

void fitting_cannot_outrun_data_processing(Check& check) {
  const std::int64_t runs = check.effort(12, 60);
  std::int64_t outrun = 0, above = 0;
  report::PlotCurve path{"one run"};
  for (std::int64_t t = 0; t < runs; ++t) {
    const Table joint = t == 0 ? kBottleneckProblem
                               : joint_of(dirichlet(check.random(), 8, 5), random_channel(check.random(), 8, 3, .5));
    // Logits near zero: both informations start near zero.
    const auto points =
        training_path(joint, {}, {.steps = 600, .learning_rate = .02, .spread = .01}, check.random(), 20);
    const auto peak = std::max_element(points.begin(), points.end(), [](const TabularCode& a, const TabularCode& b) {
      return a.information_x < b.information_x;
    });
    outrun += peak->information_y - points[0].information_y > peak->information_x - points[0].information_x;
    for (const TabularCode& code : points) {
      above += code.information_y > code.information_x + 1e-12;
      if (t == 0) path.x.push_back(code.information_x), path.y.push_back(code.information_y);
    }
  }
  const double share = static_cast<double>(outrun) / static_cast<double>(runs);
  check.near("share of runs in which I(Z;Y) rises more than I(X;Z) up to its peak", share, check.choose(0., 1.), 0);
  check.never("a point of a run has I(Z;Y) > I(X;Z)", above);
  // Starting from a code that distinguishes the inputs, I(Z;Y) may rise faster than I(X;Z), even while I(X;Z) falls.
  Mean faster;
  for (std::int64_t t = 0; t < runs; ++t) {
    const auto points =
        training_path(kBottleneckProblem, {}, {.steps = 600, .learning_rate = .02, .spread = 3}, check.random(), 20);
    std::int64_t stretches = 0;
    for (std::size_t x = 1; x < points.size(); ++x)
      stretches += points[x].information_y - points[x - 1].information_y >
                   std::max(0., points[x].information_x - points[x - 1].information_x) + 1e-6;
    faster.add(stretches > 0);
  }
  check.at_least("I(X;Z) ahead at the start: share of runs with a stretch in which I(Z;Y) grows faster", faster.mean(),
                 .2);
  std::int64_t encoders_above = 0;
  for (std::int64_t t = 0; t < 20000; ++t) {
    const Table joint = random_joint(check.random(), 5, 3, .4), encoder = random_channel(check.random(), 5, 4, .3);
    encoders_above += mutual_information(joint_of_code(joint, encoder)) >
                      mutual_information(joint_of(row_marginal(joint), encoder)) + 1e-12;
  }
  check.never("a random encoder has I(Z;Y) > I(X;Z)", encoders_above);
  check.plot({.title = "Fitting a code from nothing",
              .x_label = "I(X;Z), nats",
              .y_label = "I(Z;Y), nats",
              .curves = {path, {"I_Y = I_X", {0, .45}, {0, .45}, report::CurveStyle::bound}}});
}

// Bits at each weight.
struct Sweep {
  std::string name;
  std::vector<double> quoted, measured = {};

  double peak() const { return *std::max_element(measured.begin(), measured.end()); }
  double drop() const { return peak() - measured.back(); }
  double largest_fall() const {  // from one weight to the next
    double out = 0;
    for (std::size_t x = 1; x < measured.size(); ++x) out = std::max(out, measured[x - 1] - measured[x]);
    return out;
  }
};

// Equal-mass bins follow the unit: their share of the sample cannot change.
double distance_from_flat(Check& check) {
  Table samples(static_cast<std::size_t>(check.effort(6000, 60000)), 1);
  const std::vector<double> inputs = check.random().normals(samples.rows);
  double out = 0;
  for (double w : {.1, 1., 3., 5.}) {
    for (std::size_t x = 0; x < samples.rows; ++x) samples(x, 0) = std::tanh(w * inputs[x]);
    const double bits =
        to_bits(entropy_from_symbols(binned(samples, 30, Binning::equal_mass), EntropyEstimator::plug_in));
    out = std::max(out, std::abs(bits - 4.907));
  }
  return out;
}

void compression_depends_on_the_estimator(Check& check) {
  const OneUnit unit;
  const std::vector<double> weights = {.1, .2, .5, 1, 1.5, 2, 3, 5, 8, 12, 20, 50};
  Sweep tanh_bins{"tanh, 30 bins of [-1, 1]",
                  {2.644, 3.583, 4.631, 4.877, 4.557, 4.157, 3.515, 2.775, 2.245, 1.902, 1.594, 1.274}};
  Sweep tanh_noise{"tanh, noise .1",
                   {.51, 1.136, 2.069, 2.426, 2.399, 2.295, 2.084, 1.801, 1.578, 1.426, 1.284, 1.133}};
  Sweep relu_width{"ReLU, bins of 1/15",
                   {1.144, 1.855, 2.725, 3.325, 3.658, 3.888, 4.205, 4.595, 4.948, 5.249, 5.624, 6.291}};
  Sweep relu_range{"ReLU, 30 bins of its range", std::vector<double>(weights.size(), 2.606)};
  Sweep linear_width{"linear, bins of 1/15",
                     {2.658, 3.639, 4.955, 5.954, 6.539, 6.954, 7.539, 8.276, 8.953, 9.538, 10.275, 11.594}};
  for (double w : weights) {
    tanh_bins.measured.push_back(unit.binned(Unit::tanh, w, {-1 - 1e-9, (2 + 2e-9) / 30}));
    tanh_noise.measured.push_back(unit.noisy(Unit::tanh, w, .1));
    relu_width.measured.push_back(unit.binned(Unit::relu, w, {-1e-9, 1. / 15}));
    relu_range.measured.push_back(unit.binned(Unit::relu, w, {-1e-9, (w * unit.largest() + 2e-9) / 30}));
    linear_width.measured.push_back(unit.binned(Unit::linear, w, {-4.5 * w - 1. / 15, 1. / 15}));
  }
  check.at_least("drop of I(X;Z) from its peak as the weight grows, bits",
                 check.choose(tanh_bins.drop(), relu_width.drop()), 3);
  check.at_least("tanh, noise .1: drop from the peak, bits", tanh_noise.drop(), 1);
  for (const Sweep* monotone : {&relu_width, &linear_width})
    check.near(monotone->name + ": largest fall", monotone->largest_fall(), 0, 1e-9);
  report::Plot plot{.title = "I(X;Z) of one unit f(w x) as its weight grows",
                    .x_label = "w",
                    .y_label = "bits",
                    .x_scale = report::PlotScale::log};
  for (const Sweep* sweep : {&tanh_bins, &tanh_noise, &relu_width, &relu_range, &linear_width}) {
    for (std::size_t x = 0; x < weights.size(); ++x)
      check.near(sweep->name + ": w = " + short_text(weights[x]), sweep->measured[x], sweep->quoted[x], 6e-4);
    plot.curves.push_back({sweep->name, weights, sweep->measured});
  }
  check.near("tanh, 30 bins of equal mass: distance from 4.907, any w", distance_from_flat(check), 0, .001);
  check.plot(plot);
}

}  // namespace

std::vector<Claim> information_plane_claims() {
  return {
      computed("000-def10.4.5a", Verdict::holds, "A layer is a point (I(X;Z), I(Z;Y)) of the information plane",
               "0 <= I(Z;Y) <= min(I(X;Z), H(Y))", points_lie_under_the_diagonal),
      computed("000-def10.4.5b", Verdict::corrected, "At the start of training every layer carries little information",
               "a deterministic layer that is injective on its inputs carries H(X) from the start; a coarse estimator "
               "says little",
               layers_at_the_start),
      computed("000-thm10.4.3a", Verdict::corrected, "While fitting, I(Z;Y) grows faster than I(X;Z)",
               "not from the start: Y - X - Z is a chain, so I(Z;Y) <= I(X;Z); only where I(X;Z) is ahead already",
               fitting_cannot_outrun_data_processing),
      computed("000-thm10.4.3b", Verdict::holds_if, "Later in training I(X;Z) falls: a phase of compression",
               "for some pairs of unit and estimator: tanh with growing weights and fixed bins or noise; not ReLU with "
               "fixed bins, nor equal-mass bins (Saxe et al. 2018)",
               compression_depends_on_the_estimator),
      listed("000-thm10.4.3c", Verdict::view, "The change between the phases is a phase transition",
             "rise and fall are smooth in the weights"),
  };
}

}  // namespace isentropic::ledger::bottleneck
