// Runs a model folder for test_models.py: ids on standard input, float32 numbers on standard output.
//
//   run_model FOLDER TOKENS
//
// Outputs hidden states [n, width]; with a head, logits [n, vocabulary] and the cross-entropy of every token after the
// first [n - 1]; entropies [layers, heads, n]; TOKENS ids continuing the first nine, greedily and with a cache.
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <iostream>
#include <vector>

#include "isentropic/error.hpp"
#include "model/model_folder.hpp"

namespace {

using namespace isentropic;

void write(const at::Tensor& x) {
  const at::Tensor numbers = x.to(at::kFloat).contiguous();
  std::fwrite(numbers.const_data_ptr(), sizeof(float), static_cast<std::size_t>(numbers.numel()), stdout);
}

at::Tensor generate(const model::Transformer& model, at::Tensor ids, int tokens) {
  model::Cache cache;
  std::vector<at::Tensor> out;
  for (int i = 0; i < tokens; ++i) {
    const at::Tensor hidden = model.forward(ids, {.cache = &cache}).hidden;
    ids = model.logits(hidden.select(1, -1)).argmax(-1, true);
    out.push_back(ids);
  }
  return at::cat(out);
}

void run(const std::string& folder, int tokens) {
  const model::Transformer model = model::open_model(folder);
  std::vector<std::int64_t> read;
  for (std::int64_t id; std::cin >> id;) read.push_back(id);
  const at::Tensor ids = at::tensor(read, at::kLong).unsqueeze(0);
  const auto out = model.forward(ids, {.statistics = Statistics::of({Statistic::entropy})});
  write(out.hidden);
  if (model.description().head != model::Head::none) {
    write(model.logits(out.hidden));
    const std::int64_t last = ids.size(1) - 1;
    write(model.token_losses(out.hidden.narrow(1, 0, last), ids.narrow(1, 1, last)));
  }
  for (const auto& layer : out.statistics) write(layer.at("entropy"));
  if (tokens > 0) write(generate(model, ids.narrow(1, 0, 9), tokens));
}

}  // namespace

int main(int count, char** arguments) try {
  const at::NoGradGuard no_gradient;
  run(arguments[1], count > 2 ? std::atoi(arguments[2]) : 0);
} catch (const isentropic::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
