// isentropic::target_score: mean scores under soft targets, a block of rows at a time, with gradients.
#include "pytorch/target_score.hpp"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "pytorch/errors.hpp"
#include "pytorch/row_blocks.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

// A target of 0 hides its class, even if its score is NaN or Inf.
at::Tensor product_of_targets(const at::Tensor& t, const at::Tensor& x) { return at::where(t.eq(0), 0.0, t * x); }

// The problem, and a block of its rows in the type of statistics.
class SoftTargets {
 public:
  SoftTargets(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target, const MaybeTensor& ids,
              const MaybeTensor& bias, const at::Tensor& counted, std::optional<double> soft_cap, double temperature,
              bool logits)
      : query_(query),
        key_(key),
        target_(target),
        counted_(counted),
        soft_cap_(soft_cap),
        temperature_(temperature),
        logits_(logits),
        type_(statistics_type(query)) {
    if (ids) ids_ = *ids;
    if (bias) bias_ = bias->to(type_);
    check();
    if (!ids_.defined()) wide_key_ = key.to(type_);
  }

  struct Block {
    at::Tensor rows, t, ids, keys, slope, scores;  // [n, d], [n, k] each; keys [n, k, d] or [V, d]; slope: of the cap
  };

  // Called before the forward pass only: the backward pass need not check the same targets again.
  void require_probabilities() const {
    if (logits_ || !target_.is_cpu() || target_.numel() == 0) return;  // reading it would synchronise
    const auto least = at::where(counted_, target_.amin(1), 0.0).min().item<double>();
    TORCH_CHECK_VALUE(!(least < 0),  // NaN is not an error
                      "target has a negative number; expected probabilities (logits=True takes a teacher's logits)");
  }

  template <class Work>
  void for_each(Work work) const {
    const std::int64_t numbers = target_.size(1) * (ids_.defined() ? key_.size(1) : 1);
    for_each_block(query_.size(0), numbers, numbers_held(query_),
                   [&](std::int64_t begin, std::int64_t end) { work(begin, end, block(begin, end)); });
  }

  at::Tensor zeros(at::IntArrayRef sizes) const { return at::zeros(sizes, query_.options().dtype(type_)); }
  // Adds [n, k] (or [n, k, d]) to their classes in [V] (or [V, d]).
  void add_by_class(at::Tensor& sum, const at::Tensor& x, const Block& block) const {
    if (ids_.defined())
      sum.index_add_(0, block.ids.flatten(), x.flatten(0, 1));
    else
      sum.add_(x.sum(0));
  }
  double temperature() const { return temperature_; }
  bool by_ids() const { return ids_.defined(); }

 private:
  void check() const {
    TORCH_CHECK_VALUE(temperature_ > 0, "temperature is ", temperature_, "; expected a positive number");
    TORCH_CHECK_VALUE(query_.dim() == 2 && key_.dim() == 2 && key_.size(1) == query_.size(1), "weight has shape ",
                      key_.sizes(), "; expected rows as long as the input's, ", query_.sizes());
    TORCH_CHECK_VALUE(target_.dim() == 2 && target_.size(0) == query_.size(0), "target has shape ", target_.sizes(),
                      "; expected a row for each of ", query_.size(0));
    TORCH_CHECK_TYPE(target_.is_floating_point(), "target has type ", target_.scalar_type(),
                     "; expected a floating type");
    if (!ids_.defined()) {
      TORCH_CHECK_VALUE(target_.size(1) == key_.size(0), "target has shape ", target_.sizes(), "; expected ",
                        key_.size(0), " classes, or ids");
      return;
    }
    TORCH_CHECK_TYPE(ids_.scalar_type() == at::kLong, "ids has type ", ids_.scalar_type(), "; expected int64");
    TORCH_CHECK_VALUE(ids_.sizes() == target_.sizes(), "ids has shape ", ids_.sizes(), "; expected the target's ",
                      target_.sizes());
    if (!ids_.is_cpu() || ids_.numel() == 0) return;  // reading would synchronise; devices check by themselves
    const std::int64_t low = ids_.min().item<std::int64_t>(), high = ids_.max().item<std::int64_t>();
    TORCH_CHECK_VALUE(low >= 0 && high < key_.size(0), "ids has ", low < 0 ? low : high, "; expected a class, up to ",
                      key_.size(0) - 1);
  }

  Block block(std::int64_t begin, std::int64_t end) const {
    Block out;
    const at::Tensor counted = counted_.slice(0, begin, end).unsqueeze(1);
    out.rows = at::where(counted, query_.slice(0, begin, end).to(type_), 0.0);
    out.t = target_.slice(0, begin, end).to(type_);
    if (logits_) out.t = at::softmax(out.t / temperature_, -1);
    out.t = at::where(counted, out.t, 0.0);
    at::Tensor x;
    if (ids_.defined()) {
      out.ids = ids_.slice(0, begin, end);
      out.keys = key_.index_select(0, out.ids.flatten()).to(type_).view({end - begin, target_.size(1), key_.size(1)});
      x = at::matmul(out.keys, out.rows.unsqueeze(2)).squeeze(2);
    } else {
      out.keys = wide_key_;
      x = at::matmul(out.rows, wide_key_.t());
    }
    if (soft_cap_) {
      const at::Tensor share = at::tanh(x / *soft_cap_);
      out.slope = 1 - share.square();
      x = *soft_cap_ * share;
    }
    if (bias_.defined()) x = x + (ids_.defined() ? bias_.index_select(0, out.ids.flatten()).view_as(x) : bias_);
    out.scores = x / temperature_;
    return out;
  }

  const at::Tensor &query_, &key_, &target_, &counted_;
  const std::optional<double> soft_cap_;
  const double temperature_;
  const bool logits_;
  const at::ScalarType type_;
  at::Tensor ids_, bias_, wide_key_;
};

TargetScore target_score_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                const MaybeTensor& ids, const MaybeTensor& bias, const at::Tensor& counted,
                                std::optional<double> soft_cap, double temperature, bool logits) {
  const SoftTargets problem(query, key, target, ids, bias, counted, soft_cap, temperature, logits);
  problem.require_probabilities();
  const std::int64_t rows = query.size(0);
  const TargetScore out{problem.zeros({rows}), problem.zeros({rows}), problem.zeros({rows}),
                        problem.zeros({key.size(0)})};
  at::Tensor marginal = std::get<3>(out);
  problem.for_each([&](std::int64_t begin, std::int64_t end, const SoftTargets::Block& block) {
    std::get<0>(out).slice(0, begin, end).copy_(product_of_targets(block.t, block.scores).sum(1));
    std::get<1>(out).slice(0, begin, end).copy_(block.t.sum(1));
    std::get<2>(out).slice(0, begin, end).copy_(at::special_entr(block.t).sum(1));
    problem.add_by_class(marginal, block.t, block);
  });
  return out;
}

TargetScoreGradients target_score_gradients(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                            const MaybeTensor& ids, const MaybeTensor& bias, const at::Tensor& counted,
                                            std::optional<double> soft_cap, double temperature, bool logits,
                                            const at::Tensor& score_gradient) {
  const SoftTargets problem(query, key, target, ids, bias, counted, soft_cap, temperature, logits);
  at::Tensor d_query = problem.zeros(query.sizes()), d_key = problem.zeros(key.sizes()),
             d_bias = problem.zeros({bias ? key.size(0) : 0});
  problem.for_each([&](std::int64_t begin, std::int64_t end, const SoftTargets::Block& block) {
    at::Tensor g = block.t * (score_gradient.slice(0, begin, end).unsqueeze(1) / problem.temperature());
    if (bias) problem.add_by_class(d_bias, g, block);
    if (block.slope.defined()) g = g * block.slope;
    if (problem.by_ids()) {
      d_query.slice(0, begin, end).copy_(at::matmul(g.unsqueeze(1), block.keys).squeeze(1));
      problem.add_by_class(d_key, g.unsqueeze(2) * block.rows.unsqueeze(1), block);
    } else {
      d_query.slice(0, begin, end).copy_(at::matmul(g, block.keys));
      d_key.addmm_(g.t(), block.rows);
    }
  });
  return {d_query.to(query.scalar_type()), d_key.to(key.scalar_type()), d_bias};
}

TargetScore target_score_meta(const at::Tensor& query, const at::Tensor& key, const at::Tensor&, const MaybeTensor&,
                              const MaybeTensor&, const at::Tensor&, std::optional<double>, double, bool) {
  const auto of_size = [&](const c10::SymInt& size) {
    return at::empty_symint({size}, query.options().dtype(statistics_type(query)));
  };
  return {of_size(query.sym_size(0)), of_size(query.sym_size(0)), of_size(query.sym_size(0)), of_size(key.sym_size(0))};
}

TargetScoreGradients target_score_backward_meta(const at::Tensor& query, const at::Tensor& key, const at::Tensor&,
                                                const MaybeTensor&, const MaybeTensor& bias, const at::Tensor&,
                                                std::optional<double>, double, bool, const at::Tensor&) {
  const c10::SymInt classes = bias ? key.sym_size(0) : c10::SymInt(0);
  return {at::empty_symint(query.sym_sizes(), query.options()), at::empty_symint(key.sym_sizes(), key.options()),
          at::empty_symint({classes}, query.options().dtype(statistics_type(query)))};
}

class TargetScoreFunction : public torch::autograd::Function<TargetScoreFunction> {
 public:
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  static List forward(Context* context, const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                      const MaybeTensor& ids, const MaybeTensor& bias, const at::Tensor& counted,
                      std::optional<double> soft_cap, double temperature, bool logits) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto [score, mass, entropy, marginal] =
        target_score(query, key, target, ids, bias, counted, soft_cap, temperature, logits);
    context->save_for_backward({query, key, target, ids.value_or(at::Tensor()), bias.value_or(at::Tensor()), counted});
    context->saved_data["soft_cap"] = soft_cap;
    context->saved_data["temperature"] = temperature;
    context->saved_data["logits"] = logits;
    context->mark_non_differentiable({mass, entropy, marginal});
    return {score, mass, entropy, marginal};
  }

  static List backward(Context* context, const List& gradients) {
    const List saved = context->get_saved_variables();
    const at::Tensor &ids = saved[3], &bias = saved[4];
    const auto [d_query, d_key, d_bias] = target_score_backward(
        saved[0], saved[1], saved[2], ids.defined() ? MaybeTensor(ids) : std::nullopt,
        bias.defined() ? MaybeTensor(bias) : std::nullopt, saved[5],
        context->saved_data["soft_cap"].toOptional<double>(), context->saved_data["temperature"].toDouble(),
        context->saved_data["logits"].toBool(), gradients[0]);
    List out(9);
    out[0] = d_query;
    out[1] = d_key;
    if (bias.defined()) out[4] = d_bias.to(bias.options());
    return out;
  }
};

TargetScore target_score_autograd(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                  const MaybeTensor& ids, const MaybeTensor& bias, const at::Tensor& counted,
                                  std::optional<double> soft_cap, double temperature, bool logits) {
  TORCH_CHECK_VALUE(!(target.requires_grad() && at::GradMode::is_enabled()),
                    "target requires a gradient, which it does not get; expected target.detach()");
  const auto out = TargetScoreFunction::apply(query, key, target, ids, bias, counted, soft_cap, temperature, logits);
  return {out[0], out[1], out[2], out[3]};
}

TargetScoreGradients target_score_backward_autograd(const at::Tensor& query, const at::Tensor& key,
                                                    const at::Tensor& target, const MaybeTensor& ids,
                                                    const MaybeTensor& bias, const at::Tensor& counted,
                                                    std::optional<double> soft_cap, double temperature, bool logits,
                                                    const at::Tensor& score_gradient) {
  refuse_second_derivative({query, key, bias.value_or(at::Tensor()), score_gradient});
  const at::AutoDispatchBelowADInplaceOrView below;
  return target_score_backward(query, key, target, ids, bias, counted, soft_cap, temperature, logits, score_gradient);
}

}  // namespace

TargetScore target_score(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                         const std::optional<at::Tensor>& ids, const std::optional<at::Tensor>& bias,
                         const at::Tensor& counted, std::optional<double> soft_cap, double temperature, bool logits) {
  static const auto operation =
      c10::Dispatcher::singleton().findSchemaOrThrow("isentropic::target_score", "").typed<decltype(target_score)>();
  return operation.call(query, key, target, ids, bias, counted, soft_cap, temperature, logits);
}

TargetScoreGradients target_score_backward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                           const std::optional<at::Tensor>& ids, const std::optional<at::Tensor>& bias,
                                           const at::Tensor& counted, std::optional<double> soft_cap,
                                           double temperature, bool logits, const at::Tensor& score_gradient) {
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("isentropic::target_score_backward", "")
                                    .typed<decltype(target_score_backward)>();
  return operation.call(query, key, target, ids, bias, counted, soft_cap, temperature, logits, score_gradient);
}

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.def(
      "target_score(Tensor query, Tensor key, Tensor target, Tensor? ids, Tensor? bias, Tensor counted,"
      " float? soft_cap, float temperature, bool logits)"
      " -> (Tensor score, Tensor mass, Tensor entropy, Tensor marginal)");
  library.def(
      "target_score_backward(Tensor query, Tensor key, Tensor target, Tensor? ids, Tensor? bias, Tensor counted,"
      " float? soft_cap, float temperature, bool logits, Tensor score_gradient)"
      " -> (Tensor query, Tensor key, Tensor bias)");
}

TORCH_LIBRARY_IMPL(isentropic, CompositeExplicitAutograd, library) {
  library.impl("target_score", target_score_blocks);
  library.impl("target_score_backward", target_score_gradients);
}
TORCH_LIBRARY_IMPL(isentropic, Meta, library) {
  library.impl("target_score", target_score_meta);
  library.impl("target_score_backward", target_score_backward_meta);
}
TORCH_LIBRARY_IMPL(isentropic, Autograd, library) {
  library.impl("target_score", target_score_autograd);
  library.impl("target_score_backward", target_score_backward_autograd);
}

}  // namespace isentropic::pytorch
