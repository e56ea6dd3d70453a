// What the modules reject, with one line that names the option, its value and what was expected.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "isentropic/pytorch/losses.hpp"
#include "isentropic/pytorch/multi_head_attention.hpp"

namespace isentropic::pytorch {
namespace {

template <class Work>
void expect_refusal(Work&& work, const std::string& words) {
  try {
    work();
    ADD_FAILURE() << "not refused: " << words;
  } catch (const c10::ValueError& error) {
    EXPECT_EQ(error.what_without_backtrace(), words);
  }
}

void refused(const MultiHeadAttentionOptions& options, const std::string& words) {
  expect_refusal([&] { EntropyInvariantAttention{options}; }, words);
}

TEST(MultiHeadAttention, NamesMistakes) {
  refused({.d_model = 10, .num_heads = 3}, "num_heads is 3; expected a divisor of d_model = 10");
  refused({.d_model = 12, .num_heads = 0}, "num_heads is 0; expected a divisor of d_model = 12");
  refused({.d_model = 12, .num_heads = 3, .num_kv_heads = 2}, "num_kv_heads is 2; expected a divisor of num_heads = 3");
  refused({.d_model = 12, .num_heads = 3, .num_kv_heads = -1},
          "num_kv_heads is -1; expected a divisor of num_heads = 3");
  refused({.d_model = 9, .num_heads = 3, .positions = Positions::rotary},
          "d_model / num_heads is 3; expected an even number for rotary positions");
  refused({.d_model = 12, .num_heads = 3, .head_features = 5, .positions = Positions::rotary},
          "head_features is 5; expected an even number for rotary positions");
  refused({.d_model = 12, .num_heads = 3, .head_features = -1}, "head_features is -1; expected at least 1");
  refused({.d_model = 12, .num_heads = 3, .map = ScoreMap::sparsemax(), .learn_alpha = true},
          "learn_alpha is true; expected false, for the map sparsemax has no alpha");
  refused({.d_model = 12, .num_heads = 3, .map = ScoreMap::entmax(1.0005), .learn_alpha = true},
          "alpha is 1.0005; expected a number above 1.001 where it is learnt");
  refused({.d_model = 12, .num_heads = 3, .positions = Positions::relative, .max_distance = 0},
          "max_distance is 0; expected at least 1");
  refused({.d_model = 12, .num_heads = 3, .dropout = 1.0}, "dropout is 1; expected a probability in [0, 1)");
  refused({.d_model = 12, .num_heads = 3, .scale = Scale::inverse_sqrt_d(), .learn_scale = true},
          "learn_scale is true; expected false, for the scale inverse_sqrt_d has nothing to learn");
  refused({.d_model = 12, .num_heads = 3, .scale = Scale::log_n(std::vector<double>{1.0, 2.0})},
          "kappa of the scale log_n is given with 2 numbers; expected one, or one for each of 3 heads");
  refused({.d_model = 12, .num_heads = 3, .scale = Scale::per_row(View())},
          "scale is per_row; expected a law that holds for inputs of every length");
  refused({.d_model = 12,
           .num_heads = 3,
           .mask = Mask::none().documents(std::vector<std::int64_t>{0, 2, 5}),
           .positions = Positions::sinusoidal},
          "documents are given with sinusoidal positions; expected other positions or none");
  refused({.d_model = 12,
           .num_heads = 3,
           .mask = Mask::none().documents(std::vector<DocumentOffsets>{{{0, 2}, {0, 5}}}),
           .positions = Positions::rotary},
          "documents hold more or fewer queries than keys; expected as many, for rotary positions");
}

TEST(MultiHeadAttention, NamesWrongInputs) {
  EntropyInvariantAttention layer(MultiHeadAttentionOptions{.d_model = 12, .num_heads = 3});
  const at::Tensor x = torch::randn({2, 5, 12});
  expect_refusal([&] { layer(x.select(0, 0)); }, "Q has shape [5, 12]; expected [batch, n_q, 12], with Q's batch");
  expect_refusal([&] { layer(x, x.narrow(0, 0, 1)); },
                 "K has shape [1, 5, 12]; expected [batch, n_k, 12], with Q's batch");
  expect_refusal([&] { layer(x, x, x.narrow(1, 0, 4)); }, "V has 4 rows; expected 5, as K");
}

TEST(LinearCrossEntropy, NamesMistakes) {
  expect_refusal([] { LinearCrossEntropy(LinearCrossEntropyModuleOptions{.width = 0, .classes = 3}); },
                 "width is 0; expected at least 1");
  expect_refusal([] { LinearCrossEntropy(LinearCrossEntropyModuleOptions{.width = 3, .classes = 0}); },
                 "classes is 0; expected at least 1");
  const at::Tensor x = torch::randn({2, 3}), target = torch::zeros({2}, at::kLong);
  LinearCrossEntropy tied(LinearCrossEntropyModuleOptions{.width = 3, .classes = 4, .tied = true});
  expect_refusal([&] { tied(x, target); }, "tied_weight is absent; expected it, for the module has no weight");
  LinearCrossEntropy own(LinearCrossEntropyModuleOptions{.width = 3, .classes = 4});
  expect_refusal(
      [&] {
        own(x, target, torch::randn({4, 3}));
      },
      "tied_weight is given; expected none, for the module has its own weight");
  expect_refusal([&] { own(x, target.unsqueeze(0)); }, "target has shape [1, 2]; expected [2]");
}

}  // namespace
}  // namespace isentropic::pytorch
