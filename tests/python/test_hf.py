"""Transformers models with this library's attention against their own eager attention, on the same weights."""

import copy
import sys
import warnings

import pytest
import torch

transformers = pytest.importorskip("transformers")

import isentropic  # noqa: E402

ATOL = 1e-5
LENGTH = 20
WINDOW = 6
VOCABULARY = 64

isentropic.hf.register()
transformers.logging.set_verbosity_error()

_COMMON = dict(
    vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=None,
)  # fmt: skip

DECODERS = {
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=64, pad_token_id=0, bos_token_id=1,
        eos_token_id=None, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0,
    ),
    "llama": lambda: transformers.LlamaConfig(**_COMMON),
    "qwen2": lambda: transformers.Qwen2Config(**_COMMON),
    "qwen3": lambda: transformers.Qwen3Config(**_COMMON, head_dim=8),
    "mistral": lambda: transformers.MistralConfig(**_COMMON, sliding_window=WINDOW),
    "gemma2": lambda: transformers.Gemma2Config(
        **_COMMON, head_dim=8, sliding_window=WINDOW, attn_logit_softcapping=2.0, query_pre_attn_scalar=8
    ),
    "gpt_oss": lambda: transformers.GptOssConfig(
        **_COMMON, head_dim=8, sliding_window=WINDOW, num_local_experts=2, num_experts_per_tok=1,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    ),
}  # fmt: skip

PADDING = {"none": [LENGTH, LENGTH], "left": [LENGTH, LENGTH - 7], "right": [LENGTH, LENGTH - 7]}


pytestmark = pytest.mark.usefixtures("one_thread")


def pair(config, build=transformers.AutoModelForCausalLM):
    """The same weights with eager and with this library's attention; large ones, so that attention is not uniform."""
    eager = build.from_config(copy.deepcopy(config), attn_implementation="eager").eval()
    ours = build.from_config(copy.deepcopy(config), attn_implementation="isentropic").eval()
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in eager.named_parameters():
            if parameter.dim() > 1 or "sinks" in name:
                parameter.normal_(std=0.3)
    ours.load_state_dict(eager.state_dict())
    return eager, ours


def tokens(batch=2, length=LENGTH):
    return torch.randint(2, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(2))


def padding(side):
    """[batch, LENGTH], 1 for tokens."""
    positions = torch.arange(LENGTH)
    lengths = torch.tensor(PADDING[side])[:, None]
    return (positions >= LENGTH - lengths if side == "left" else positions < lengths).long()


def entropies(weights):
    """Entropies of the distribution over keys, in float64; with a sink, given that the sink was not chosen."""
    weights = weights.double()
    return torch.special.entr(weights / weights.sum(-1, keepdim=True)).sum(-1)


def assert_close(found, expected, atol=ATOL):
    torch.testing.assert_close(found, expected, atol=atol, rtol=1e-5)


# ---- outputs and statistics ----


@pytest.mark.parametrize("side", PADDING)
@pytest.mark.parametrize("name", DECODERS)
def test_decoder_agrees_with_eager(name, side):
    eager, ours = pair(DECODERS[name]())
    inputs = dict(input_ids=tokens(), attention_mask=padding(side))
    with torch.no_grad(), isentropic.hf.collect(ours) as layers:
        expected = eager(**inputs, output_attentions=True)
        found = ours(**inputs)
    there = padding(side).bool()
    assert_close(found.logits[there], expected.logits[there])
    assert found.logits.isfinite().all()
    assert len(layers) == len(expected.attentions) == 2
    for aux, weights in zip(layers.values(), expected.attentions):
        rows = there[:, None].expand(aux.entropy.shape)
        assert_close(aux.entropy[rows].double(), entropies(weights)[rows])
        assert aux.entropy.isfinite().all()


def test_layers_have_their_names():
    ours = pair(DECODERS["llama"]())[1]
    with torch.no_grad(), isentropic.hf.collect(ours, ("entropy",)) as layers:
        ours(tokens())
    assert list(layers) == ["model.layers.0.self_attn", "model.layers.1.self_attn"]
    assert layers["model.layers.1.self_attn"].as_dict().keys() == {"entropy"}
    assert layers["model.layers.1.self_attn"].entropy.shape == (2, 4, LENGTH)


def test_collected_sink_mass_is_what_the_keys_do_not_get():
    eager, ours = pair(DECODERS["gpt_oss"]())
    with torch.no_grad(), isentropic.hf.collect(ours) as layers:
        expected = eager(tokens(), output_attentions=True)
        ours(tokens())
    for aux, weights in zip(layers.values(), expected.attentions):
        assert_close(aux.sink_mass, 1 - weights.sum(-1))


@pytest.mark.parametrize("side", PADDING)
def test_bert_agrees_with_eager(side):
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=64,
    )  # fmt: skip
    eager, ours = pair(config, transformers.AutoModel)
    inputs = dict(input_ids=tokens(), attention_mask=padding(side))
    with torch.no_grad(), isentropic.hf.collect(ours) as layers:
        expected = eager(**inputs, output_attentions=True)
        found = ours(**inputs)
    assert_close(found.last_hidden_state, expected.last_hidden_state)
    assert list(layers) == ["encoder.layer.0.attention.self", "encoder.layer.1.attention.self"]
    for aux, weights in zip(layers.values(), expected.attentions):
        assert_close(aux.entropy.double(), entropies(weights))


def test_t5_has_its_position_bias_and_looks_at_the_encoder():
    config = transformers.T5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0,
        dropout_rate=0.0,
    )  # fmt: skip
    eager, ours = pair(config, transformers.AutoModelForSeq2SeqLM)
    inputs = dict(input_ids=tokens(), attention_mask=padding("right"), labels=tokens(length=9))
    found, expected = ours(**inputs), eager(**inputs)
    assert_close(found.logits, expected.logits)
    found.loss.backward()
    expected.loss.backward()
    assert_close(*(model.encoder.block[0].layer[0].SelfAttention.relative_attention_bias.weight.grad
                   for model in (ours, eager)))  # fmt: skip


def test_weights_on_demand_are_those_of_eager():
    eager, ours = pair(DECODERS["gpt_oss"]())
    inputs = dict(input_ids=tokens(), attention_mask=padding("right"), output_attentions=True)
    with torch.no_grad():
        found, expected = ours(**inputs).attentions, eager(**inputs).attentions
    assert len(found) == 2
    for ours_of_layer, theirs in zip(found, expected):
        assert_close(ours_of_layer, theirs)
    query = torch.randn(1, 2, 9, 4)
    assert isentropic.hf._attention(torch.nn.Identity(), query, query, query, None)[1] is None


# ---- masks ----


def plain_model(window=None):
    config = transformers.MistralConfig(**_COMMON, sliding_window=window)
    return pair(config)


@pytest.mark.parametrize("window", [None, WINDOW])
def test_packed_sequences_do_not_see_each_other(window):
    eager, ours = plain_model(window)
    positions = torch.cat([torch.cat([torch.arange(n) for n in lengths])[None] for lengths in ([5, 15], [8, 4, 8])])
    with torch.no_grad(), isentropic.hf.collect(ours, ("visible",)) as layers:
        # Models detect packed sequences only if they keep no cache.
        expected = eager(tokens(), position_ids=positions, use_cache=False).logits
        found = ours(tokens(), position_ids=positions, use_cache=False).logits
    assert_close(found, expected)
    visible = positions + 1 if window is None else (positions + 1).clamp(max=window)
    for aux in layers.values():
        assert torch.equal(aux.visible, visible[:, None].expand(aux.visible.shape))


@pytest.mark.parametrize("window", [None, WINDOW])
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_pieces_of_a_text_through_a_cache(cache, window):
    eager, ours = plain_model(window)
    pieces = (7, 6, 1, 3, 1, 2)
    caches = {
        "dynamic": lambda model: transformers.DynamicCache(config=model.config),
        "static": lambda model: transformers.StaticCache(config=model.config, max_cache_len=LENGTH + 5),
    }
    with torch.no_grad():
        whole = eager(tokens()).logits
        past = caches[cache](ours)
        found = [ours(piece, past_key_values=past).logits for piece in tokens().split(pieces, dim=1)]
    assert_close(torch.cat(found, dim=1), whole)


def test_no_matrix_is_written_for_the_usual_masks():
    from isentropic import _hf_masks

    model = plain_model(WINDOW)[1]
    seen = []
    for layer in model.model.layers:
        layer.self_attn.register_forward_pre_hook(
            lambda _module, _args, kwargs: seen.append(kwargs["attention_mask"]), with_kwargs=True
        )
    positions = torch.arange(LENGTH).remainder(10)[None].expand(2, -1)
    cached = transformers.DynamicCache(config=model.config)
    with torch.no_grad():
        model(tokens())
        model(tokens(), attention_mask=padding("none"))
        model(tokens(), attention_mask=padding("left"))
        model(tokens(), position_ids=positions, use_cache=False)
        model(tokens(), past_key_values=cached)
    assert len(seen) == 10
    written = []
    for mask in seen:
        assert isinstance(mask, _hf_masks.RuleMask) and mask.shape == (2, 1, LENGTH, LENGTH)
        assert mask.contiguous() is mask
        assert mask._matrix is None
        written += [option for option in mask.options().values() if isinstance(option, torch.Tensor)]
    assert len(written) == 4 and all(option.numel() <= 2 * LENGTH for option in written)


def test_a_model_that_touches_its_mask_gets_the_matrix():
    eager, ours = plain_model()
    touched = {}

    def hide_key_three(module, args, kwargs):
        mask = kwargs["attention_mask"]
        mask[:, :, 4:, 3] = torch.finfo(mask.dtype).min
        touched[module] = mask + 0.0

    for model in (eager, ours):
        model.model.layers[0].self_attn.register_forward_pre_hook(hide_key_three, with_kwargs=True)
    with torch.no_grad():
        expected, found = eager(tokens()).logits, ours(tokens()).logits
        untouched = plain_model()[0](tokens()).logits
    assert_close(found, expected)
    assert not torch.allclose(found, untouched, atol=1e-2)
    assert torch.equal(touched[ours.model.layers[0].self_attn], touched[eager.model.layers[0].self_attn])


def test_the_matrix_is_that_of_the_time_the_mask_was_made():
    ours = plain_model()[1]
    written = []
    # The first layer has already advanced the static cache when the second one reads it.
    ours.model.layers[1].self_attn.register_forward_pre_hook(
        lambda _module, _args, kwargs: written.append(kwargs["attention_mask"] + 0.0), with_kwargs=True
    )
    cache = transformers.StaticCache(config=ours.config, max_cache_len=LENGTH)
    with torch.no_grad():
        for piece in tokens().split((7, 4, 9), dim=1):
            ours(piece, past_key_values=cache)
    assert torch.equal(torch.cat(written, dim=2) == 0, torch.ones(2, 1, LENGTH, LENGTH).tril() > 0)


def test_masks_without_a_rule_are_written_out():
    eager, ours = pair(transformers.LlamaConfig(**_COMMON))
    custom = torch.rand(2, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(3)) > 0.5
    custom |= torch.eye(LENGTH, dtype=torch.bool)
    additive = torch.where(custom, 0.0, torch.finfo(torch.float32).min)
    with torch.no_grad():
        expected = eager(tokens(), attention_mask=additive).logits
        assert_close(ours(tokens(), attention_mask=custom).logits, expected)
        assert_close(ours(tokens(), attention_mask=additive).logits, expected)


@pytest.mark.parametrize("n_q, n_k, q_offset, kv_offset", [
    (9, 9, 0, 0), (4, 9, 5, 0), (4, 12, 3, 0), (3, 8, 9, 4), (4, 9, 0, 0), (4, 6, 0, 3), (2, 6, 0, 3), (5, 6, 3, 0),
])  # fmt: skip
@pytest.mark.parametrize("pattern", ["causal", "window", "full", "window both ways", "chunks", "padding"])
def test_rules_say_what_the_matrix_says(pattern, n_q, n_k, q_offset, kv_offset):
    from transformers import masking_utils

    from isentropic import _hf_masks

    functions = {
        "causal": masking_utils.causal_mask_function,
        "padding": masking_utils.causal_mask_function,
        "window": masking_utils.sliding_window_causal_mask_function(3),
        "full": masking_utils.bidirectional_mask_function,
        "window both ways": masking_utils.sliding_window_bidirectional_mask_function(3),
        "chunks": masking_utils.chunked_causal_mask_function(3, torch.tensor([0, 2])),
    }
    arguments = dict(
        batch_size=2, q_length=n_q, kv_length=n_k, q_offset=q_offset, kv_offset=kv_offset,
        mask_function=functions[pattern],
    )  # fmt: skip
    if pattern == "padding":
        numbers = torch.rand(2, n_k + kv_offset - 1, generator=torch.Generator().manual_seed(4))
        arguments["attention_mask"] = numbers > 0.4
    expected = masking_utils.sdpa_mask(allow_is_causal_skip=False, **arguments)
    options = dict(_hf_masks.mask(**arguments, dtype=torch.float32).options())
    if "keys" in options:
        options["key_lengths"] = [options.pop("keys")] * 2
    # With equal scores, a row's weights show what it sees.
    query, key = torch.zeros(2, 1, n_q, 4), torch.zeros(2, 1, n_k, 4)
    found = isentropic.attention_weights(query, key, range(n_q), **options) > 0
    assert torch.equal(found, expected)


@pytest.mark.parametrize("module_says, call_says, causal", [
    (True, None, True), (False, None, False), (True, False, False), (False, True, True),
])  # fmt: skip
def test_where_a_model_makes_no_mask_call_or_module_say_whether_it_is_causal(module_says, call_says, causal):
    module = torch.nn.Identity()
    module.is_causal = module_says
    query, key = torch.randn(1, 2, 9, 4), torch.randn(1, 2, 9, 4)
    found = isentropic.hf._attention(module, query, key, key, None, is_causal=call_says)[0]
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, key, is_causal=causal)
    assert_close(found, expected.transpose(1, 2))
    one = isentropic.hf._attention(module, query[:, :, :1], key, key, None, is_causal=call_says)[0]
    assert_close(one, torch.nn.functional.scaled_dot_product_attention(query[:, :, :1], key, key).transpose(1, 2))


# ---- generation, training ----


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "gemma2", "gpt_oss"])
def test_generates_the_same_tokens(name, cache):
    eager, ours = pair(DECODERS[name]())
    options = dict(
        attention_mask=padding("left"), max_new_tokens=6, do_sample=False, cache_implementation=cache,
        disable_compile=True,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = eager.generate(tokens(), **options)
        found = ours.generate(tokens(), **options)
    assert found.shape == (2, LENGTH + 6)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("name", DECODERS)
def test_gradients_agree_with_eager(name):
    eager, ours = pair(DECODERS[name]())
    there = padding("right")
    inputs = dict(input_ids=tokens(), labels=tokens().where(there.bool(), -100), attention_mask=there)
    eager(**inputs).loss.backward()
    ours(**inputs).loss.backward()
    for expected, found in zip(eager.parameters(), ours.parameters()):
        assert (found.grad is None) == (expected.grad is None)
        if expected.grad is not None:
            largest = expected.grad.abs().max().clamp(min=1e-3)
            assert_close(found.grad / largest, expected.grad / largest)


def test_dropout_is_for_training():
    config = transformers.LlamaConfig(**_COMMON, attention_dropout=0.5)
    eager, ours = pair(config)
    with torch.no_grad():
        assert_close(ours(tokens()).logits, eager(tokens()).logits)
    ours.train()
    one, other = ours(tokens(), labels=tokens()), ours(tokens())
    assert not torch.allclose(one.logits, other.logits, atol=1e-2)
    one.loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in ours.parameters())
    query = torch.randn(1, 2, 9, 4)
    plain, dropped = (isentropic.hf._attention(torch.nn.Identity().eval(), query, query, query, None, dropout=p)[0]
                      for p in (0.0, 0.5))  # fmt: skip
    assert torch.equal(plain, dropped)


def test_monitor_watches_a_checkpointed_model_once():
    ours = pair(DECODERS["llama"]())[1].train()
    ours.gradient_checkpointing_enable()
    with isentropic.Monitor(ours) as monitor, isentropic.hf.collect(ours, ("entropy",)) as layers:
        ours(tokens(), labels=tokens()).loss.backward()
        rows = monitor._tallies["model.layers.0.self_attn"]["rows"].tolist()  # the end of a step clears them
    assert rows == [2 * LENGTH] * 4
    for name, record in monitor.last.items():
        assert_close(torch.tensor(record["entropy"]), layers[name].entropy.mean((0, 2)))


# ---- refusals ----


@pytest.mark.parametrize("name", ["block_indices", "cache"])
def test_other_ways_to_choose_keys_are_refused(name):
    query = torch.zeros(1, 2, 3, 4)
    with pytest.raises(ValueError, match=f"'{name}'.*expected none"):
        isentropic.hf._attention(torch.nn.Identity(), query, query, query, None, **{name: torch.zeros(1, 3, 2)})


def test_the_shape_of_chosen_keys_is_checked():
    query = torch.zeros(1, 2, 3, 4)
    with pytest.raises(ValueError, match=r"indices has shape \(3, 2\); expected \(1, 3, chosen keys\)"):
        isentropic.hf._attention(torch.nn.Identity(), query, query, query, None, indices=torch.zeros(3, 2).long())


# ---- sparse indexers ----


@pytest.mark.parametrize("mask", [None, "boolean", "additive"])
def test_an_indexer_chooses_among_the_keys_that_the_mask_shows(mask):
    query, key, value = torch.randn(3, 2, 2, 5, 4).unbind()
    module = torch.nn.Identity()
    module.is_causal = False
    indices = torch.tensor([[0, 1], [1, 0], [0, 2], [3, 1], [2, 4]]).expand(2, 5, 2)
    chosen = torch.zeros(5, 5).scatter(-1, indices[0], 1.0).bool()
    visible = torch.ones(5, 5).bool() if mask is None else torch.ones(5, 5).tril().bool()
    given = {"boolean": visible, "additive": torch.zeros(5, 5).masked_fill(~visible, torch.finfo(torch.float32).min)}
    output, _ = isentropic.hf._attention(module, query, key, value, given.get(mask), indices=indices)
    scores = (query @ key.transpose(-1, -2) / 2).masked_fill(~(visible & chosen), -torch.inf)
    assert_close(output, (scores.softmax(-1) @ value).transpose(1, 2), 1e-5)


def test_without_transformers_the_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match="isentropic.hf needs transformers"):
        isentropic.hf.register()
