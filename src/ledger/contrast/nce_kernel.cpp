// The distributions used to check the claims about NCE, and NCE's loss through the softmax loss.
#include "ledger/contrast/nce_kernel.hpp"

namespace isentropic::ledger::contrast {

using information::Table;

const std::vector<double> kNceData = {0.2838417221235853, 0.005457378374751882, 0.04205243875537892,
                                      0.2770859904448909, 0.22025845313179934,  0.17130401716959384};
const std::vector<double> kNceNoise = {0.18844649897836036, 0.09578633650602858, 0.1159490217204439,
                                       0.3416189883035319,  0.1665507370980843,  0.09164841739355085};
const std::vector<double> kNceModelScores = {0.08130305629403443, 0.2814308365081419, -1.5989883258714874,
                                             -1.730724189576384,  0.3550784031579345, -0.8621880728268713};

NceKernel nce_kernel(const std::vector<double>& data, const std::vector<double>& model,
                     const std::vector<double>& noise, double noise_per_datum) {
  const std::size_t n = data.size();
  NceKernel out{{Table(2 * n, n), Table(2, n), std::vector<std::int64_t>(2 * n, 0)}, std::vector<double>(2 * n)};
  for (std::size_t x = 0; x < n; ++x) {
    out.contrast.query(x, x) = out.contrast.query(n + x, x) = 1;
    out.contrast.key(0, x) = std::log(model[x] / (noise_per_datum * noise[x]));
    out.contrast.target[n + x] = 1;
    out.weights[x] = data[x];
    out.weights[n + x] = noise_per_datum * noise[x];
  }
  return out;
}

double measured_loss(const NceKernel& kernel) { return dot(losses_of(kernel.contrast), kernel.weights); }

std::vector<double> measured_gradient(const NceKernel& kernel) {
  const Table gradient = gradients_of(kernel.contrast, kernel.weights).key;
  return {gradient.row(0).begin(), gradient.row(0).end()};
}

}  // namespace isentropic::ledger::contrast
