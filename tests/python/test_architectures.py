"""A few of the comparisons of make architectures, each for something that only some models have."""

import pytest

transformers = pytest.importorskip("transformers")

import architectures  # noqa: E402

transformers.logging.set_verbosity_error()
pytestmark = pytest.mark.usefixtures("one_thread")

PREDICT = {
    "DeepseekV32ForCausalLM": "a sparse indexer",
    "DeepseekV4ForCausalLM": "sinks, and keys that are summaries of others",
    "DiffLlamaForCausalLM": "two calls with the same weights in a layer",
    "FalconForCausalLM": "no attention interface, but PyTorch's call",
    "Gemma3ForConditionalGeneration": "a text model inside of another",
    "GraniteSWAForCausalLM": "sinks that eager attention applies to its output",
    "MiniMaxForCausalLM": "layers that are not softmax attention and return a matrix",
}


@pytest.mark.parametrize("name", PREDICT)
def test_causal_models(name):
    outcome, said = architectures.compare(name)
    assert outcome == "agrees" and "no loss" not in said, said


def test_a_masked_model_has_no_loss():
    outcome, said = architectures.compare("AlbertForMaskedLM")  # one module, called once per layer
    assert outcome == "agrees" and said.startswith("4 layers") and "no loss" in said


def test_refusals_are_told():
    outcome, said = architectures.compare("BloomForCausalLM")
    assert outcome == "refused" and "BloomAttention is an attention of the architecture's own" in said


def test_other_matrices_differ(monkeypatch):
    run = architectures.run_eager

    def squared(model, ids):
        logits, matrices = run(model, ids)
        return logits, {name: [(p * p / (p * p).sum(-1, keepdim=True)) for p in own] for name, own in matrices.items()}

    monkeypatch.setattr(architectures, "run_eager", squared)
    assert architectures.compare("LlamaForCausalLM")[0] == "differs"


def test_other_logits_differ(monkeypatch):
    run = architectures.run_eager
    monkeypatch.setattr(architectures, "run_eager", lambda *given: (run(*given)[0] * 1.01, run(*given)[1]))
    assert architectures.compare("LlamaForCausalLM")[0] == "differs"
