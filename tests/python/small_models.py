"""A small random model of any transformers architecture that predicts tokens."""

import dataclasses

import torch
import transformers
from transformers.models.auto import modeling_auto

VOCABULARY = 97
_MOST_PARAMETERS = 30e6  # models that remain larger despite SIZES are not worth the wait

# The names configurations use for the same few sizes.
SIZES = (
    dict.fromkeys(("vocab_size", "encoder_vocab_size", "vocabulary_size"), VOCABULARY)
    | dict.fromkeys(("hidden_size", "n_embd", "d_model", "dim", "emb_dim", "embedding_size", "word_embed_proj_dim"), 64)
    | dict.fromkeys(("entity_emb_size", "embed_dim", "encoder_hidden_size", "embedding_dim", "hidden_size_global"), 64)
    | dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "n_inner", "hidden_dim", "dim_ff", "ffn_hidden_size"), 80)
    | dict.fromkeys(("decoder_ffn_dim", "encoder_ffn_dim", "d_inner", "block_ff_dim", "expert_ffn_hidden_size"), 64)
    | dict.fromkeys(("num_hidden_layers", "n_layer", "num_layers", "n_layers", "decoder_layers", "encoder_layers"), 4)
    | dict.fromkeys(("num_decoder_layers", "num_encoder_layers", "depth"), 4)
    | dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"), 4)
    | dict.fromkeys(("encoder_attention_heads", "num_encoder_attention_heads", "num_decoder_attention_heads"), 4)
    | dict.fromkeys(("num_key_value_heads", "num_kv_heads"), 2)
    | dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"), 64)
    | dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4)
    | dict.fromkeys(("num_experts_per_tok", "moe_topk", "moe_k"), 2)
    | dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "kv_lora_rank", "q_lora_rank"), 16)
    | dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "hidden_size_per_layer_input"), 8)
    | dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace", "bos_token_id", "num_mtp_modules"), 1)
    | dict(head_dim=16, sliding_window=8, index_topk=8, rotary_dim=4, pad_token_id=0, eos_token_id=2)
)
# Fixes for what the sizes break: numbers that must match each other.
_LATENT = dict(num_key_value_heads=4, head_dim=8)  # keys and values from a latent vector: one per head, rotated part
_MIXED = ["linear_attention", "full_attention"] * 2
_BLOCKS = ["linear_attention", "hybrid"] * 2
_ROPE = dict(rope_type="default", rope_theta=10000.0)
EXCEPTIONS = {
    "bailing_hybrid": dict(layer_group_size=2),
    "bamba": dict(attn_layer_indices=[1, 3]),
    "blt": dict(encoder_hash_byte_group_vocab=100),
    "cohere_compass_text": dict(rope_parameters=dict(full_attention=_ROPE, sliding_attention=_ROPE)),
    "dbrx": dict(
        attn_config=dict(kv_n_heads=2, clip_qkv=8.0, rope_theta=10000.0),
        ffn_config=dict(hidden_size=64, ffn_hidden_size=64),
    ),
    "deepseek_v2": dict(num_experts_per_tok=2),
    "dots1": dict(n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2),
    "esmc": dict(num_key_value_heads=4),
    "gemma3n_text": dict(layer_types=["sliding_attention", "full_attention"] * 2, num_kv_shared_layers=2),
    "gpt_neo": dict(attention_types=[[["global", "local"], 2]]),
    "granitemoehybrid": dict(layer_types=_MIXED),
    "jamba": dict(attn_layer_period=2, attn_layer_offset=1),
    "kimi_linear": dict(layer_types=_MIXED),
    "lfm2_moe": dict(layer_types=["conv", "full_attention"] * 2),
    "luke": dict(entity_vocab_size=VOCABULARY),
    "mamba2": dict(head_dim=32, n_groups=1),
    "musicgen_decoder": dict(num_codebooks=1),
    "musicgen_melody_decoder": dict(num_codebooks=1),
    "nemotron": dict(num_key_value_heads=2),
    "perceiver": dict(d_latents=64, num_latents=16, num_self_attends_per_block=2),
    "qwen4_exp_text": dict(
        indexer_n_heads=2,
        indexer_kv_heads=1,
        indexer_head_dim=16,
        indexer_budget=16,
        indexer_compress_ratio=4,
        ngram_vocab_size_base=100,
    ),
    "reformer": dict(is_decoder=True, axial_pos_embds=False),
    "xmod": dict(default_language="en_XX"),
    "zamba": dict(layers_block_type=_BLOCKS),
    "zamba2": dict(layers_block_type=_BLOCKS),
    "zaya": dict(num_experts_per_tok=1),
}
# Elsewhere None has a meaning: no window, no latent vector.
_EVEN_WHERE_NONE = {"head_dim", "vocab_size", "pad_token_id"}


def architectures():
    """``{model type: class name}``: causal language models, and masked ones for types without a causal one."""
    named = dict(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES) | dict(
        modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    )
    return {kind: name if isinstance(name, str) else name[0] for kind, name in sorted(named.items())}


def small_config(made):
    """A configuration for the class ``made``, with nested configurations made small as well."""
    usual = made()
    names = {field.name for field in dataclasses.fields(made)}
    options = {name: value for name, value in SIZES.items() if name in names and _may_be_set(usual, name)}
    if options.get("kv_lora_rank"):
        options |= {name: value for name, value in _LATENT.items() if name in names}
    for part in made.sub_configs:
        inside = getattr(usual, part, None)
        if isinstance(inside, transformers.PreTrainedConfig):
            options[part] = small_config(type(inside))
    return made(**options | EXCEPTIONS.get(made.model_type, {}))


def _may_be_set(config, name):
    if isinstance(getattr(type(config), name, None), property):
        return False
    return name in _EVEN_WHERE_NONE or vars(config).get(name) is not None


def small_model(name, seed=1):
    """A model of a transformers class given by name."""
    made = getattr(transformers, name)
    config = small_config(made.config_class)
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in made(config).parameters())
    if count > _MOST_PARAMETERS:
        raise ValueError(f"{count / 1e6:.0f} million parameters, made small")
    return lively(made(small_config(made.config_class)).float(), seed)


def lively(model, seed=1):
    """Puts the model into evaluation mode, with weights that make attention non-uniform."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.2)
    return model.eval()
