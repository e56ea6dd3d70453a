// The information plane: I(X;Z) and I(Z;Y) of a layer, at the start and during training: def10.4.5, thm10.4.3.
#include <algorithm>

#include "instruments/estimate.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "ledger/bottleneck/one_unit.hpp"
#include "ledger/bottleneck/problems.hpp"
#include "ledger/bottleneck/random_laws.hpp"
#include "ledger/bottleneck/random_network.hpp"
#include "ledger/bottleneck/subjects.hpp"
#include "ledger/bottleneck/tabular_code.hpp"

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

double exact_bits(const Table& activations) {
  return to_bits(entropy_from_symbols(activations, EntropyEstimator::plug_in));
}

double binned_bits(Table activations, double width) {
  for (double& h : activations.values) h = std::floor(h / width);
  return exact_bits(activations);
}

void layers_at_the_start(Check& check) {
  const std::int64_t networks = check.effort(6, 30);
  std::vector<double> layers, tanh_exact(kLayers), tanh_binned(kLayers), relu_exact(kLayers), relu_binned(kLayers);
  const auto mean = [&](double x) { return x / static_cast<double>(networks); };
  for (std::int64_t t = 0; t < networks; ++t) {
    const std::vector<Table> smooth = random_network(Unit::tanh, check.random());
    const std::vector<Table> cut = random_network(Unit::relu, check.random());
    for (std::size_t l = 0; l < kLayers; ++l) {
      tanh_exact[l] += mean(exact_bits(smooth[l])), tanh_binned[l] += mean(binned_bits(smooth[l], .5));
      relu_exact[l] += mean(exact_bits(cut[l])), relu_binned[l] += mean(binned_bits(cut[l], .5));
    }
  }
  // "Little", generously: less than a tenth of what there is.
  for (std::size_t l = 0; l < kLayers; ++l) {
    layers.push_back(static_cast<double>(l + 1));
    check.between("tanh, layer " + std::to_string(l + 1) + ": exact I(X;Z) in bits of 12", tanh_exact[l],
                  check.choose(11.99, 0.), check.choose(12.01, 1.2));
  }
  check.at_most("ReLU, layer 5, bins of width .5: bits", relu_binned.back(), 3);
  check.at_least("ReLU, layer 5: exact less binned, bits, same networks", relu_exact.back() - relu_binned.back(), 1);
  check.at_least("tanh, layer 5: exact less binned, bits, same networks", tanh_exact.back() - tanh_binned.back(), 5);
  check.plot({.title = "I(X;Z) before training: the estimator decides, not the network",
              .x_label = "layer",
              .y_label = "I(X;Z), bits",
              .curves = {{"tanh, exact", layers, tanh_exact},
                         {"tanh, bins of .5", layers, tanh_binned},
                         {"ReLU, exact", layers, relu_exact},
                         {"ReLU, bins of .5", layers, relu_binned}}});
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
  std::int64_t encoders_above = 0;
  for (std::int64_t t = 0; t < check.effort(3000, 20000); ++t) {
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

void compression_depends_on_the_estimator(Check& check) {
  const OneUnit unit;
  const std::vector<double> weights = {.1, .2, .5, 1, 1.5, 2, 3, 5, 8, 12, 20, 50};
  std::vector<double> tanh_bins, tanh_noise, relu_width, relu_range, linear_width;
  for (double w : weights) {
    tanh_bins.push_back(unit.binned(Unit::tanh, w, {-1 - 1e-9, (2 + 2e-9) / 30}));
    tanh_noise.push_back(unit.noisy(Unit::tanh, w, .1));
    relu_width.push_back(unit.binned(Unit::relu, w, {-1e-9, 1. / 15}));
    relu_range.push_back(unit.binned(Unit::relu, w, {-1e-9, (w * unit.largest() + 2e-9) / 30}));
    linear_width.push_back(unit.binned(Unit::linear, w, {-4.5 * w - 1. / 15, 1. / 15}));
  }
  const auto drop = [](const std::vector<double>& bits) {
    return *std::max_element(bits.begin(), bits.end()) - bits.back();
  };
  check.at_least("drop of I(X;Z) from its peak as the weight grows, bits",
                 check.choose(drop(tanh_bins), drop(relu_width)), 3);
  check.near("tanh, 30 bins of [-1, 1]: w = .1", tanh_bins[0], 2.64, .006);
  check.near("tanh, 30 bins: w = 1", tanh_bins[3], 4.88, .006);
  check.near("tanh, 30 bins: w = 50", tanh_bins.back(), 1.27, .006);
  check.near("tanh, noise .1: w = .1", tanh_noise[0], .51, .006);
  check.near("tanh, noise .1: largest", *std::max_element(tanh_noise.begin(), tanh_noise.end()), 2.43, .006);
  check.near("tanh, noise .1: w = 50", tanh_noise.back(), 1.13, .006);
  check.near("ReLU, bins of 1/15: w = .1", relu_width[0], 1.14, .006);
  check.near("ReLU, bins of 1/15: w = 50", relu_width.back(), 6.29, .006);
  check.near("ReLU, bins of 1/15: largest fall", drop(relu_width), 0, 1e-9);
  check.near("linear, bins of 1/15: largest fall", drop(linear_width), 0, 1e-9);
  check.near("ReLU, 30 bins of its own range: w = .1", relu_range[0], 2.606, .001);
  check.near("ReLU, 30 bins of its own range: w = 50", relu_range.back(), 2.606, .001);

  Table samples(static_cast<std::size_t>(check.effort(6000, 60000)), 1);
  double flat = 0;
  const std::vector<double> inputs = check.random().normals(samples.rows);
  for (double w : {.1, 1., 3.}) {
    for (std::size_t x = 0; x < samples.rows; ++x) samples(x, 0) = std::tanh(w * inputs[x]);
    flat = std::max(flat, std::abs(exact_bits(binned(samples, 30, Binning::equal_mass)) - 4.907));
  }
  check.near("tanh, 30 bins of equal mass: distance from 4.907, any w", flat, 0, .001);
  check.plot({.title = "I(X;Z) of one unit f(w x) as its weight grows",
              .x_label = "w",
              .y_label = "bits",
              .x_scale = report::PlotScale::log,
              .curves = {{"tanh, 30 bins of [-1, 1]", weights, tanh_bins},
                         {"tanh, noise .1", weights, tanh_noise},
                         {"ReLU, bins of 1/15", weights, relu_width},
                         {"ReLU, 30 bins of its range", weights, relu_range},
                         {"linear, bins of 1/15", weights, linear_width}}});
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
