// Trains the tabular code by gradient descent with analytic gradients.
#include "experiments/tools/tabular_code.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/tools/adam.hpp"
#include "experiments/tools/random_laws.hpp"

namespace isentropic::experiments::tools {
namespace {

using information::Table;

// Writes the softmax of each row of logits to `out`.
void softmax_rows(std::span<const double> logits, std::size_t columns, std::span<double> out) {
  for (std::size_t first = 0; first < logits.size(); first += columns) {
    const auto row = logits.subspan(first, columns);
    const double most = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += out[first + c] = std::exp(row[c] - most);
    for (std::size_t c = 0; c < columns; ++c) out[first + c] /= sum;
  }
}

double safe_log(double p) { return std::log(std::max(p, 1e-300)); }

void log_of(std::span<const double> p, std::span<double> out) {
  for (std::size_t x = 0; x < p.size(); ++x) out[x] = safe_log(p[x]);
}

class Trainer {
 public:
  Trainer(const Table& joint, const CodeLoss& loss, const Training& training, Random& random)
      : joint_(joint),
        loss_(loss),
        training_(training),
        px_(information::row_marginal(joint)),
        decoder_rows_(loss.decoder == DecoderInput::code ? training.codes : joint.rows),
        parameters_(random.normals(size(), training.spread)),
        gradient_(size()),
        adam_(size()),
        encoder_(joint.rows, training.codes),
        decoder_(decoder_rows_, joint.columns),
        code_label_(training.codes, joint.columns),
        log_decoder_(decoder_),
        log_code_label_(code_label_),
        prior_(training.codes),
        pz_(training.codes),
        log_prior_(training.codes),
        log_pz_(training.codes),
        log_py_(information::column_marginal(joint)) {
    log_of(log_py_, log_py_);
    for (double& r : std::span(parameters_).subspan(prior_offset())) r = 0;  // the prior starts uniform
  }

  void step() {
    read();
    differentiate();
    adam_.descend(parameters_, gradient_, training_.learning_rate);
  }

  TabularCode result() {
    read();
    TabularCode out{encoder_, decoder_, prior_};
    out.information_x = information::mutual_information(joint_of(px_, encoder_));
    out.information_y = information::mutual_information(code_label_);
    out.loss = loss_.information_x * out.information_x + loss_.information_y * out.information_y;
    for (std::size_t x = 0; x < joint_.rows; ++x)
      for (std::size_t z = 0; z < training_.codes; ++z)
        out.loss += loss_.rate * px_[x] * encoder_(x, z) * (safe_log(encoder_(x, z)) - safe_log(prior_[z]));
    const Table& read_by_decoder = loss_.decoder == DecoderInput::code ? code_label_ : joint_;
    for (std::size_t c = 0; c < decoder_.values.size(); ++c)
      out.loss -= loss_.surprise * read_by_decoder.values[c] * safe_log(decoder_.values[c]);
    return out;
  }

 private:
  std::size_t decoder_offset() const { return joint_.rows * training_.codes; }
  std::size_t prior_offset() const { return decoder_offset() + decoder_rows_ * joint_.columns; }
  std::size_t size() const { return prior_offset() + training_.codes; }

  // Computes the distributions from the logits, and everything derived from them.
  void read() {
    const std::span<const double> all = parameters_;
    const std::size_t codes = training_.codes, labels = joint_.columns;
    softmax_rows(all.first(decoder_offset()), codes, encoder_.values);
    softmax_rows(all.subspan(decoder_offset(), decoder_.values.size()), labels, decoder_.values);
    softmax_rows(all.subspan(prior_offset()), codes, prior_);
    std::fill(code_label_.values.begin(), code_label_.values.end(), 0.);
    std::fill(pz_.begin(), pz_.end(), 0.);
    for (std::size_t x = 0; x < joint_.rows; ++x)
      for (std::size_t z = 0; z < codes; ++z) {
        pz_[z] += px_[x] * encoder_(x, z);
        for (std::size_t y = 0; y < labels; ++y) code_label_(z, y) += encoder_(x, z) * joint_(x, y);
      }
    log_of(decoder_.values, log_decoder_.values);
    log_of(code_label_.values, log_code_label_.values);
    log_of(prior_, log_prior_);
    log_of(pz_, log_pz_);
  }

  void differentiate() {
    for (std::size_t x = 0; x < joint_.rows; ++x) differentiate_encoder(x);
    const Table& read_by_decoder = loss_.decoder == DecoderInput::code ? code_label_ : joint_;
    const std::vector<double>& mass = loss_.decoder == DecoderInput::code ? pz_ : px_;
    for (std::size_t r = 0; r < decoder_rows_; ++r)
      for (std::size_t y = 0; y < joint_.columns; ++y)
        gradient_[decoder_offset() + r * joint_.columns + y] =
            -loss_.surprise * (read_by_decoder(r, y) - mass[r] * decoder_(r, y));
    for (std::size_t z = 0; z < training_.codes; ++z)
      gradient_[prior_offset() + z] = -loss_.rate * (pz_[z] - prior_[z]);
  }

  // d loss / d p(z|x), up to terms that are the same for all z, then through the softmax.
  void differentiate_encoder(std::size_t x) {
    const std::span<double> slope = std::span(gradient_).subspan(x * training_.codes, training_.codes);
    double mean = 0;
    for (std::size_t z = 0; z < training_.codes; ++z) {
      const double log_encoder = safe_log(encoder_(x, z));
      slope[z] =
          px_[x] * (loss_.rate * (log_encoder - log_prior_[z]) + loss_.information_x * (log_encoder - log_pz_[z]));
      for (std::size_t y = 0; y < joint_.columns; ++y) {
        if (loss_.decoder == DecoderInput::code) slope[z] -= loss_.surprise * joint_(x, y) * log_decoder_(z, y);
        slope[z] += loss_.information_y * joint_(x, y) * (log_code_label_(z, y) - log_pz_[z] - log_py_[y]);
      }
      mean += encoder_(x, z) * slope[z];
    }
    for (std::size_t z = 0; z < training_.codes; ++z) slope[z] = encoder_(x, z) * (slope[z] - mean);
  }

  const Table& joint_;
  CodeLoss loss_;
  Training training_;
  std::vector<double> px_;
  std::size_t decoder_rows_;
  std::vector<double> parameters_, gradient_;
  Adam adam_;
  Table encoder_, decoder_, code_label_, log_decoder_, log_code_label_;
  std::vector<double> prior_, pz_, log_prior_, log_pz_, log_py_;
};

}  // namespace

Table joint_of_code(const Table& joint, const Table& encoder) { return product(transposed(encoder), joint); }

TabularCode train_code(const Table& joint, const CodeLoss& loss, const Training& training, Random& random) {
  return training_path(joint, loss, training, random, 1).back();
}

TabularCode train_code(const Table& joint, const CodeLoss& loss, const Training& training, Random& random,
                       std::int64_t starts) {
  TabularCode best = train_code(joint, loss, training, random);
  for (std::int64_t t = 1; t < starts; ++t) {
    TabularCode next = train_code(joint, loss, training, random);
    if (next.loss < best.loss) best = std::move(next);
  }
  return best;
}

std::vector<TabularCode> training_path(const Table& joint, const CodeLoss& loss, const Training& training,
                                       Random& random, std::int64_t points) {
  Trainer trainer(joint, loss, training, random);
  std::vector<TabularCode> out = {trainer.result()};
  for (std::int64_t t = 1; t <= training.steps; ++t) {
    trainer.step();
    if (t * points / training.steps > (t - 1) * points / training.steps) out.push_back(trainer.result());
  }
  return out;
}

}  // namespace isentropic::experiments::tools
