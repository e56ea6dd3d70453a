"""What transformers models of many kinds expose, and what is reported for those that expose nothing."""

import warnings

import pytest
import torch

transformers = pytest.importorskip("transformers")

import isentropic  # noqa: E402
from isentropic.regularisers import EntropyRegulariser  # noqa: E402

isentropic.hf.register()
transformers.logging.set_verbosity_error()
pytestmark = pytest.mark.usefixtures("one_thread")

VOCABULARY, LENGTH = 64, 12
_COMMON = dict(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, pad_token_id=0)
_SHORT = dict(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, pad_token_id=0)

CONFIGS = {
    "albert": lambda: transformers.AlbertConfig(**_COMMON | {"num_hidden_layers": 3}, embedding_size=16, intermediate_size=48),
    "bloom": lambda: transformers.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4),
    "deberta": lambda: transformers.DebertaConfig(**_COMMON, intermediate_size=48),
    "falcon": lambda: transformers.FalconConfig(**_COMMON),
    "gpt2": lambda: transformers.GPT2Config(**_SHORT, bos_token_id=1, eos_token_id=None, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0),
    "gpt_neo": lambda: transformers.GPTNeoConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]]
    ),
    "gptj": lambda: transformers.GPTJConfig(**_SHORT, rotary_dim=4),
    "llama": lambda: transformers.LlamaConfig(**_COMMON, intermediate_size=48),
    "mpt": lambda: transformers.MptConfig(vocab_size=VOCABULARY, d_model=32, n_layers=2, n_heads=4),
    "opt": lambda: transformers.OPTConfig(**_COMMON, ffn_dim=48, word_embed_proj_dim=32, dropout=0.0),
}  # fmt: skip


def build(name, implementation="isentropic", kind=transformers.AutoModel):
    return kind.from_config(CONFIGS[name](), attn_implementation=implementation).eval()


def tokens(length=LENGTH):
    return torch.randint(2, VOCABULARY, (2, length), generator=torch.Generator().manual_seed(2))


def collected(model, **options):
    """What is collected in one forward pass, and the warnings of both watches."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with torch.no_grad(), isentropic.hf.collect(model) as layers, isentropic.Monitor(model):
            model(tokens(), **options)
    return layers, [str(warning.message) for warning in told if "isentropic" in str(warning.message)]


# ---- not seen ----


@pytest.mark.parametrize("name, attention", [
    ("bloom", "BloomAttention"), ("mpt", "MptAttention"), ("deberta", "DisentangledSelfAttention"),
])  # fmt: skip
def test_attention_of_its_own_is_named_with_the_reason(name, attention):
    layers, messages = collected(build(name))
    assert layers == {} and len(messages) == 2
    for observer, message in zip(("isentropic.collect", "isentropic.Monitor"), sorted(messages, reverse=True)):
        assert message.startswith(f"{observer} sees no attention in ")
        assert f": {attention} is an attention of the architecture's own, outside of transformers' attention" in message


@pytest.mark.parametrize("name, known, attention", [
    ("falcon", "eager, sdpa, flash_attention_2", "FalconAttention"),
    ("gptj", "eager, flash_attention_2", "GPTJAttention"),
    ("gpt_neo", "eager, flash_attention_2", "GPTNeoSelfAttention"),
])  # fmt: skip
def test_a_table_of_attention_classes_is_named(name, known, attention):
    for _ in range(2):
        isentropic.hf.register()  # registering again still gives a single explanation
        with pytest.raises(ValueError) as caught:
            build(name)
        assert str(caught.value).startswith(
            f'attn_implementation is "isentropic"; expected one of {known}: {name} has attention classes of its own '
            f"({attention}) and does not use transformers' attention interface"
        )
    assert build(name, "eager")(tokens()).last_hidden_state.isfinite().all()


def test_only_the_part_with_a_table_is_refused():
    vision = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=32, patch_size=8, output_channels=8, global_attn_indexes=[0], mlp_dim=16)  # fmt: skip
    config = transformers.SamConfig(vision_config=vision, prompt_encoder_config=dict(hidden_size=8, image_size=32, patch_size=8), mask_decoder_config=dict(hidden_size=8, mlp_dim=8, num_attention_heads=2, iou_head_hidden_dim=8))  # fmt: skip
    with pytest.raises(ValueError, match="sam_vision_model has attention classes of its own"):
        transformers.SamModel._from_config(config, attn_implementation="isentropic")
    parts = {"": "isentropic", "vision_config": "eager"}
    assert transformers.SamModel._from_config(config, attn_implementation=parts).config._attn_implementation == "isentropic"  # fmt: skip


def test_falcon_is_seen_by_the_road_its_error_names():
    model = build("falcon", "sdpa")
    with isentropic.replace_sdpa():
        layers, messages = collected(model)
    assert list(layers) == ["h.0.self_attention", "h.1.self_attention"] and messages == []


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_another_implementation_is_named_with_what_to_do(implementation):
    model = build("llama", implementation)
    layers, messages = collected(model)
    assert layers == {} and len(messages) == 2
    for message in messages:
        assert f'sees no attention in layers.0.self_attn, layers.1.self_attn: LlamaModel runs with attn_implementation="{implementation}"' in message  # fmt: skip
        assert 'model.set_attn_implementation("isentropic")' in message
        assert ("replace_sdpa" in message) == (implementation == "sdpa")
    model.set_attn_implementation("isentropic")
    layers, messages = collected(model)
    assert len(layers) == 2 and messages == []


def test_a_compiled_forward_is_named():
    model = build("llama")
    model.forward = torch.compile(model.forward, backend="eager")
    layers, messages = collected(model)
    assert layers == {} and len(messages) == 2
    assert all("sees no attention in LlamaModel: none of its attention was called" in message for message in messages)
    assert all("if it runs compiled, collect before compiling it" in message for message in messages)


# ---- seen ----


def test_shared_layers_have_an_entry_for_every_call():
    model = build("albert")
    layers, messages = collected(model)
    name = "encoder.albert_layer_groups.0.albert_layers.0.attention"
    assert list(layers) == [name, f"{name}#2", f"{name}#3"] and messages == []
    eager = build("albert", "eager")
    eager.load_state_dict(model.state_dict())
    with torch.no_grad():
        weights = eager(tokens(), output_attentions=True).attentions
    for aux, expected in zip(layers.values(), weights, strict=True):
        torch.testing.assert_close(aux.entropy, torch.special.entr(expected).sum(-1), atol=1e-5, rtol=1e-5)


def test_every_step_of_generation_can_be_kept():
    model = build("gpt2", kind=transformers.AutoModelForCausalLM)
    with isentropic.hf.collect(model, "visible", keep="all") as layers:
        model.generate(tokens(), attention_mask=torch.ones_like(tokens()), max_new_tokens=4, do_sample=False)
    assert list(layers) == ["transformer.h.0.attn", "transformer.h.1.attn"]
    for steps in layers.values():
        assert [aux.visible.shape[-1] for aux in steps] == [LENGTH, 1, 1, 1]
        assert [aux.visible[0, 0, -1].item() for aux in steps] == [LENGTH, LENGTH + 1, LENGTH + 2, LENGTH + 3]


@pytest.mark.parametrize("name", ["gpt2", "opt", "llama", "albert"])
def test_weights_come_whether_or_not_modules_are_told(name):
    ours, eager = build(name), build(name, "eager")
    eager.load_state_dict(ours.state_dict())
    with torch.no_grad():
        found = ours(tokens(), output_attentions=True).attentions
        expected = eager(tokens(), output_attentions=True).attentions
        assert ours(tokens()).attentions is None
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_regulariser_moves_the_entropy_of_a_model(checkpointed):
    model = build("llama", kind=transformers.AutoModelForCausalLM).train()
    if checkpointed:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.SGD(model.parameters(), lr=10.0)
    regulariser = EntropyRegulariser(1.0, "discourage")
    values = []
    for _ in range(5):
        optimizer.zero_grad()
        with isentropic.hf.collect(model, ("normalised_entropy", "visible"), detach=False) as layers:
            model(tokens(), use_cache=False)
            loss = regulariser(layers)
            loss.backward()
        optimizer.step()
        values.append(loss.item())
    queries = model.model.layers[0].self_attn.q_proj.weight
    assert queries.grad.abs().max() > 0
    assert values[-1] < values[0] - 1e-5
    assert values == sorted(values, reverse=True)
