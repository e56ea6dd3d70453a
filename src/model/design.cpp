// Descriptions of new models.
#include "model/design.hpp"

#include <algorithm>

#include "base/list_of.hpp"
#include "isentropic/error.hpp"

namespace isentropic::model {
namespace {

const std::vector<std::string> kNorms = {"rms", "layer"};  // in the order of NormKind
const std::vector<std::string> kPositions = {"none",       "rotary", "learned",
                                             "sinusoidal", "alibi",  "relative"};  // in the order of Positions

template <class Enum>
Enum named(const char* argument, const std::vector<std::string>& known, const std::string& name) {
  const auto found = std::ranges::find(known, name);
  if (found == known.end()) throw Error(argument, "'" + name + "'", list_of(known));
  return static_cast<Enum>(found - known.begin());
}

void set_positions(Description& out, Positions positions) {
  out.positions = positions;
  out.rotary.clear();
  if (positions == Positions::relative && out.relative_distance == 0) out.relative_distance = 128;
  if (positions != Positions::rotary) return;
  if (out.head_width % 2 != 0)
    throw Error("width of a head", std::to_string(out.head_width), "an even number, with rotary positions");
  out.rotary = {Rotary{.dimensions = out.head_width}};
  for (Layer& layer : out.layers) layer.rotary = 0;
}

void set_windows(Description& out, Windows windows) {
  if (windows.window == 0 && windows.global_every > 0)
    throw Error("global-every", std::to_string(windows.global_every), "none without a window");
  if (windows.window == 0) return;
  const bool rotary_or_none = out.positions == Positions::rotary || out.positions == Positions::none;
  if (!out.causal || out.norm.kind != NormKind::rms || !rotary_or_none)
    throw Error("window", std::to_string(windows.window),
                "none (windows need an autoregressive model with an rms norm and rotary or no positions)");
  for (std::size_t i = 0; i < out.layers.size(); ++i) {
    const bool is_global = windows.global_every > 0 && (i + 1) % static_cast<std::size_t>(windows.global_every) == 0;
    if (is_global)
      out.layers[i].rotary.reset();
    else
      out.layers[i].window = windows.window;
  }
}

std::string family_of_design(const Description& out) {
  const bool rms = out.norm.kind == NormKind::rms;
  if (out.norm_place == NormPlace::after_residual) return "bert";
  if (!out.causal) return "isentropic";
  const bool has_windows = std::ranges::any_of(out.layers, [](const Layer& layer) { return layer.window.has_value(); });
  if (rms && out.positions == Positions::rotary && !has_windows) return "llama";
  if (rms && (out.positions == Positions::none || has_windows)) return "smollm3";
  if (!rms && out.positions == Positions::learned) return "gpt2";
  return "isentropic";
}

}  // namespace

NormKind norm_named(const std::string& name) { return named<NormKind>("norm", kNorms, name); }
Positions positions_named(const std::string& name) { return named<Positions>("positions", kPositions, name); }
std::string name(NormKind kind) { return kNorms[static_cast<std::size_t>(kind)]; }
std::string name(Positions positions) { return kPositions[static_cast<std::size_t>(positions)]; }

void design(Description& out, NormKind norm, Positions positions, bool causal, Windows windows) {
  const bool rms = norm == NormKind::rms;
  out.causal = causal;
  out.norm = {norm, rms ? 1e-6 : 1e-5};
  set_positions(out, positions);
  set_windows(out, windows);
  out.gated = rms;
  out.activation = rms ? Activation::silu : Activation::gelu_tanh;
  out.query_bias = out.output_bias = out.mlp_bias = !rms;
  out.tied = true;
  if (!causal && !rms && positions == Positions::learned) {
    out.norm_place = NormPlace::after_residual;
    out.embedding_norm = true;
    out.final_norm = false;
    out.token_types = 1;
    out.activation = Activation::gelu;
    out.head = Head::masked_lm;
  }
  out.family = family_of_design(out);
  if (out.family == "gpt2") out.projections = Projections::fused;
}

}  // namespace isentropic::model
