// Attention over a sequence split across the ranks of a c10d::ProcessGroup, contiguously and equally: keys and values
// are all-gathered, their gradients summed back. Registered as an operator, so that Python can pass its group:
//
//   torch.ops.load_library("libattention_over_ranks.so")
//   output, entropy = torch.ops.isentropic_examples.attention_over_ranks(q, k, v, group.group_name)
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "isentropic/pytorch/partial_attention.hpp"

namespace {

using namespace isentropic;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kSequence = 2;  // the position axis

at::Tensor gathered(c10d::ProcessGroup& group, const at::Tensor& shard) {
  std::vector<at::Tensor> mine = {shard.contiguous()};
  std::vector<std::vector<at::Tensor>> all(1);
  for (int rank = 0; rank < group.getSize(); ++rank) all[0].push_back(at::empty_like(mine[0]));
  group.allgather(all, mine)->wait();
  return at::cat(all[0], kSequence);
}

// The sum over all ranks of the part for this rank's positions.
at::Tensor added_up_at_home(c10d::ProcessGroup& group, const at::Tensor& whole, const at::Tensor& shard) {
  std::vector<at::Tensor> sum = {whole.contiguous()};
  group.allreduce(sum)->wait();
  const std::int64_t n = shard.size(kSequence);
  return sum[0].narrow(kSequence, group.getRank() * n, n).to(shard.scalar_type());
}

pytorch::AttentionOptions options_of(c10d::ProcessGroup& group, std::int64_t n) {
  const std::int64_t total = n * group.getSize();
  return {.mask = Mask::causal(),
          .statistics = Statistics::of({Statistic::entropy}),
          .shard = {.query_runs = {{group.getRank() * n, n}}, .total_queries = total, .total_keys = total}};
}

class AttentionOverRanks : public torch::autograd::Function<AttentionOverRanks> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, const std::string& name) {
    const auto group = c10d::resolve_process_group(name);
    const auto found = pytorch::attention(query, gathered(*group, key), gathered(*group, value),
                                          options_of(*group, query.size(kSequence)));
    const at::Tensor& entropy = found.statistics.at("entropy");
    context->save_for_backward({query, key, value, found.output, found.rows, found.row_counts, found.selected});
    context->saved_data["group"] = name;
    context->mark_non_differentiable({entropy});
    return {found.output, entropy};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &query = saved[0], &key = saved[1], &value = saved[2];
    const auto group = c10d::resolve_process_group(context->saved_data["group"].toStringRef());
    const pytorch::AttentionOutput whole{saved[3], {}, saved[4], saved[5], saved[6]};
    const auto shares = pytorch::attention_backward(query, gathered(*group, key), gathered(*group, value),
                                                    options_of(*group, query.size(kSequence)), whole, gradients[0]);
    return {shares.query.to(query.scalar_type()), added_up_at_home(*group, shares.key, key),
            added_up_at_home(*group, shares.value, value), at::Tensor()};
  }
};

std::tuple<at::Tensor, at::Tensor> attention_over_ranks(const at::Tensor& query, const at::Tensor& key,
                                                        const at::Tensor& value, const std::string& group) {
  const variable_list found = AttentionOverRanks::apply(query, key, value, group);
  return {found[0], found[1]};
}

}  // namespace

TORCH_LIBRARY(isentropic_examples, library) {
  library.def("attention_over_ranks(Tensor query, Tensor key, Tensor value, str group) -> (Tensor, Tensor)",
              attention_over_ranks);
}
