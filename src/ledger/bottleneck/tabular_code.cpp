#include "ledger/bottleneck/tabular_code.hpp"

#include <algorithm>
#include <cmath>

#include "ledger/bottleneck/adam.hpp"
#include "ledger/bottleneck/random_laws.hpp"

namespace isentropic::ledger {
namespace {

Table softmax_rows(std::span<const double> logits, std::size_t rows, std::size_t columns) {
  Table out(rows, columns, {logits.begin(), logits.end()});
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = out.row(r);
    const double most = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x - most);
    for (double& x : row) x /= sum;
  }
  return out;
}

double safe_log(double p) { return std::log(std::max(p, 1e-300)); }

class Trainer {
 public:
  Trainer(const Table& joint, const CodeLoss& loss, const Training& training, Random& random)
      : joint_(joint),
        loss_(loss),
        training_(training),
        px_(row_marginal(joint)),
        py_(column_marginal(joint)),
        decoder_rows_(loss.decoder == DecoderInput::code ? training.codes : joint.rows),
        parameters_(random.normals(size(), training.spread)),
        gradient_(size()),
        adam_(size()) {
    for (double& r : std::span(parameters_).subspan(prior_offset())) r = 0;
  }

  void step() {
    read();
    differentiate();
    adam_.descend(parameters_, gradient_, training_.learning_rate);
  }

  TabularCode result() {
    read();
    TabularCode out{encoder_, decoder_, prior_};
    out.information_x = mutual_information(joint_of(px_, encoder_));
    out.information_y = mutual_information(code_label_);
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

  // Distributions from logits.
  void read() {
    const std::span<const double> all = parameters_;
    encoder_ = softmax_rows(all.first(decoder_offset()), joint_.rows, training_.codes);
    decoder_ =
        softmax_rows(all.subspan(decoder_offset(), decoder_rows_ * joint_.columns), decoder_rows_, joint_.columns);
    prior_ = softmax_rows(all.subspan(prior_offset()), 1, training_.codes).values;
    code_label_ = joint_of_code(joint_, encoder_);
    pz_ = row_marginal(code_label_);
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

  // d loss / d p(z|x), up to what is the same for all z, then through the softmax.
  void differentiate_encoder(std::size_t x) {
    std::vector<double> slope(training_.codes);
    double mean = 0;
    for (std::size_t z = 0; z < training_.codes; ++z) {
      const double log_encoder = safe_log(encoder_(x, z)), log_code = safe_log(pz_[z]);
      slope[z] =
          px_[x] * (loss_.rate * (log_encoder - safe_log(prior_[z])) + loss_.information_x * (log_encoder - log_code));
      for (std::size_t y = 0; y < joint_.columns; ++y) {
        if (loss_.decoder == DecoderInput::code) slope[z] -= loss_.surprise * joint_(x, y) * safe_log(decoder_(z, y));
        slope[z] += loss_.information_y * joint_(x, y) * (safe_log(code_label_(z, y)) - log_code - safe_log(py_[y]));
      }
      mean += encoder_(x, z) * slope[z];
    }
    for (std::size_t z = 0; z < training_.codes; ++z)
      gradient_[x * training_.codes + z] = encoder_(x, z) * (slope[z] - mean);
  }

  const Table& joint_;
  CodeLoss loss_;
  Training training_;
  std::vector<double> px_, py_;
  std::size_t decoder_rows_;
  std::vector<double> parameters_, gradient_;
  Adam adam_;
  Table encoder_, decoder_, code_label_;
  std::vector<double> prior_, pz_;
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

}  // namespace isentropic::ledger
