// A joint distribution without its empty rows and columns, and the quantities that any code over it needs.
#include "information/bottleneck_problem.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/checks.hpp"
#include "information/distributions/matrix.hpp"
#include "information/distributions/validate.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information::bottleneck {
namespace {

constexpr double kLeast = 1e-300;      // keeps logarithms of vanished probabilities finite
constexpr double kUnusedMass = 1e-12;  // codes below it are dropped

double log_of(double p) { return std::log(std::max(p, kLeast)); }

bool same_meaning(const Table& pyz, std::size_t a, std::size_t b, double difference) {
  for (std::size_t y = 0; y < pyz.columns; ++y)
    if (std::abs(pyz(a, y) - pyz(b, y)) > difference) return false;
  return true;
}

}  // namespace

Problem::Problem(const Table& joint) {
  require_joint(joint);
  py = column_marginal(joint);
  const std::vector<double> mass = row_marginal(joint);
  for (std::size_t x = 0; x < joint.rows; ++x) {
    if (mass[x] == 0) continue;
    support.push_back(x);
    px.push_back(mass[x]);
  }
  channel = Table(support.size(), joint.columns);
  for (std::size_t x = 0; x < support.size(); ++x) {
    double sum = 0;
    for (std::size_t y = 0; y < joint.columns; ++y) {
      const double p = channel(x, y) = joint(support[x], y) / px[x];
      if (p > 0) sum += p * std::log(p);
    }
    channel_log_p.push_back(sum);
  }
}

Table Problem::without_unused(const Table& encoder) const {
  Table out(inputs(), encoder.columns);
  for (std::size_t x = 0; x < inputs(); ++x) std::ranges::copy(encoder.row(support[x]), out.row(x).begin());
  return out;
}

Table Problem::with_unused(const Table& encoder, std::size_t rows) const {
  const std::vector<double> pz = Decoder(*this, encoder).pz;
  Table out(rows, encoder.columns);
  for (std::size_t x = 0; x < rows; ++x) std::ranges::copy(pz, out.row(x).begin());
  for (std::size_t x = 0; x < inputs(); ++x) std::ranges::copy(encoder.row(x), out.row(support[x]).begin());
  return out;
}

Decoder::Decoder(const Problem& problem, const Table& encoder)
    : pz(encoder.columns, 0.0), pyz(encoder.columns, problem.channel.columns) {
  Table mass = encoder;  // p(x, z)
  for (std::size_t x = 0; x < problem.inputs(); ++x)
    for (std::size_t z = 0; z < encoder.columns; ++z) pz[z] += mass(x, z) *= problem.px[x];
  matrix_of(pyz).noalias() = matrix_of(mass).transpose() * matrix_of(problem.channel);
  for (std::size_t z = 0; z < pz.size(); ++z)
    if (pz[z] > 0)
      for (double& p : pyz.row(z)) p /= pz[z];
}

Information information_of(const Problem& problem, const Decoder& decoder, double conditional_entropy) {
  Information out;
  for (std::size_t z = 0; z < decoder.pz.size(); ++z) {
    if (decoder.pz[z] == 0) continue;
    out.entropy -= decoder.pz[z] * std::log(decoder.pz[z]);
    for (std::size_t y = 0; y < problem.py.size(); ++y)
      if (const double p = decoder.pyz(z, y); p > 0) out.y += decoder.pz[z] * p * std::log(p / problem.py[y]);
  }
  out.x = out.entropy - conditional_entropy;
  return out;
}

Table log_preferences(const Problem& problem, const Decoder& decoder, double beta) {
  Table log_pyz = decoder.pyz;
  for (double& p : log_pyz.values) p = log_of(p);
  std::vector<double> log_pz;
  for (double p : decoder.pz) log_pz.push_back(log_of(p));
  Table out(problem.inputs(), decoder.pz.size());  // first sum_y p(y|x) log p(y|z)
  matrix_of(out).noalias() = matrix_of(problem.channel) * matrix_of(log_pyz).transpose();
  for (std::size_t x = 0; x < problem.inputs(); ++x)
    for (std::size_t z = 0; z < out.columns; ++z) out(x, z) = log_pz[z] - (problem.channel_log_p[x] - out(x, z)) / beta;
  return out;
}

Table compact(const Problem& problem, const Table& encoder, double difference) {
  const Decoder decoder(problem, encoder);
  std::vector<std::size_t> kept;                       // first code of every group
  std::vector<std::size_t> group(encoder.columns, 0);  // group of every kept code
  for (std::size_t z = 0; z < encoder.columns; ++z) {
    if (decoder.pz[z] < kUnusedMass) continue;
    std::size_t g = 0;
    while (g < kept.size() && !same_meaning(decoder.pyz, kept[g], z, difference)) ++g;
    if (g == kept.size()) kept.push_back(z);
    group[z] = g;
  }
  Table out(encoder.rows, kept.size());
  for (std::size_t x = 0; x < encoder.rows; ++x) {
    double sum = 0;
    for (std::size_t z = 0; z < encoder.columns; ++z)
      if (decoder.pz[z] >= kUnusedMass) {
        out(x, group[z]) += encoder(x, z);
        sum += encoder(x, z);
      }
    if (sum == 0)  // x is so rare that all its codes were dropped: any code will do
      out(x, 0) = sum = 1;
    for (double& p : out.row(x)) p /= sum;
  }
  return out;
}

void require_encoder(const Table& encoder, std::size_t rows) {
  if (encoder.rows != rows || encoder.columns == 0 || encoder.values.size() != encoder.rows * encoder.columns)
    throw Error("encoder", shape_text(encoder), "one row for each of the " + std::to_string(rows) + " values of X");
  for (std::size_t x = 0; x < rows; ++x) require_distribution("encoder row " + std::to_string(x), encoder.row(x));
}

}  // namespace isentropic::information::bottleneck
