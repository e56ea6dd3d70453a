// Runs a model folder for test_models.py: ids on standard input, float32 numbers on standard output.
//
//   run_model FOLDER logits                  logits of every token, [n, vocabulary]
//   run_model FOLDER hidden                  hidden states, [n, width]
//   run_model FOLDER losses                  cross-entropy of every token after the first, [n - 1]
//   run_model FOLDER entropy                 [layers, heads, n]
//   run_model FOLDER generate TOKENS         ids as text: greedy, with a cache
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

void generate(const model::Transformer& model, at::Tensor ids, int tokens) {
  model::Cache cache;
  for (int i = 0; i < tokens; ++i) {
    const at::Tensor hidden = model.forward(ids, {.cache = &cache}).hidden;
    ids = model.logits(hidden.select(1, -1)).argmax(-1, true);
    std::printf("%lld ", static_cast<long long>(ids.item<std::int64_t>()));
  }
}

void run(const std::string& folder, const std::string& what, int tokens) {
  const model::Transformer model = model::open_model(folder);
  std::vector<std::int64_t> read;
  for (std::int64_t id; std::cin >> id;) read.push_back(id);
  const at::Tensor ids = at::tensor(read, at::kLong).unsqueeze(0);
  if (what == "generate") return generate(model, ids, tokens);
  const auto out = model.forward(ids, {.statistics = Statistics::of({Statistic::entropy})});
  if (what == "logits") write(model.logits(out.hidden));
  if (what == "hidden") write(out.hidden);
  if (what == "losses") {
    const std::int64_t last = ids.size(1) - 1;
    write(model.token_losses(out.hidden.narrow(1, 0, last), ids.narrow(1, 1, last)));
  }
  if (what == "entropy")
    for (const auto& layer : out.statistics) write(layer.at("entropy"));
}

}  // namespace

int main(int count, char** arguments) try {
  const at::NoGradGuard no_gradient;
  run(arguments[1], arguments[2], count > 3 ? std::atoi(arguments[3]) : 0);
} catch (const isentropic::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
