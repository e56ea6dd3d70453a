// Bounds on mutual information for Python: from a critic's scores, and for layers with Gaussian noise.
#include <torch/custom_class.h>
#include <torch/library.h>

#include "isentropic/information/critic_bounds.hpp"
#include "isentropic/information/noise_bounds.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/information/functions.hpp"

namespace isentropic::pytorch::bindings {

using namespace information;

static void give(Results& out, const CriticBound& bound) { give_all(out, bound.value, bound.ceiling, bound.validity); }
static void give(Results& out, const JensenShannonBound& bound) {
  give_all(out, bound.divergence, bound.mutual_information);
}
static void give(Results& out, const InformationBounds& bounds) { give_all(out, bounds.lower, bounds.upper); }
static void give(Results& out, const LabelInformation& found) {
  give_all(out, found.bounds, found.pairwise_kl, found.pairwise_bhattacharyya);
}

Functions bound_functions() {
  return {
      function("info_nce_bound", info_nce_bound),
      function("donsker_varadhan_bound", donsker_varadhan_bound),
      function("nwj_bound", nwj_bound),
      function("tuba_bound", tuba_bound),
      function("interpolated_bound", interpolated_bound),
      function("smile_estimate", smile_estimate),
      function("jensen_shannon_bound", jensen_shannon_bound),
      function("barber_agakov_bound", barber_agakov_bound),
      function("cosine_critic_ceiling", cosine_critic_ceiling),
      function("noisy_layer_input_information", noisy_layer_input_information),
      function("noisy_layer_label_information", noisy_layer_label_information),
  };
}

namespace {

// torch.classes.isentropic.MovingPartition: a class, because it keeps state from batch to batch.
class MovingPartitionClass : public torch::CustomClassHolder {
 public:
  explicit MovingPartitionClass(double share)
      : partition_(with_python_errors([&] { return MovingPartition(share); })) {}

  double log_average() { return partition_.log_average(); }
  std::tuple<double, double, std::string> update(const at::Tensor& scores) {
    return with_python_errors([&] {
      const CriticBound bound = partition_.update(Taken<Table>::of(scores));
      return std::tuple(bound.value, bound.ceiling, word_of(bound.validity));
    });
  }

 private:
  MovingPartition partition_;
};

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.class_<MovingPartitionClass>("MovingPartition")
      .def(torch::init<double>())
      .def("log_average", &MovingPartitionClass::log_average)
      .def("update", &MovingPartitionClass::update);
}

}  // namespace
}  // namespace isentropic::pytorch::bindings
