"""Models inside context_parallel: the effect of a training step, against one process with the whole sequence."""

import contextlib

import pytest
import torch
import torch.distributed as dist
import transformers
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import isentropic
from isentropic.distributed import context_parallel

N, VOCABULARY = 32, 61


def _gpt_oss():
    """Sinks, windows in every other layer, grouped heads."""
    config = transformers.GptOssConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, sliding_window=6, num_local_experts=2, num_experts_per_tok=1,
        layer_types=["sliding_attention", "full_attention"], max_position_embeddings=4096,
    )  # fmt: skip
    model = transformers.GptOssForCausalLM(config)
    model.set_experts_implementation("eager")  # the others have no float64
    return model


def _gemma():
    """Soft caps, alternating windows, a custom query scale."""
    config = transformers.Gemma2Config(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, sliding_window=7, query_pre_attn_scalar=8, attn_logit_softcapping=5.0,
        max_position_embeddings=64,
    )  # fmt: skip
    return transformers.Gemma2ForCausalLM(config)


def _made(make, implementation="isentropic"):
    isentropic.hf.register()
    torch.manual_seed(0)
    model = make()
    model.set_attn_implementation(implementation)
    return model.double()


def _data():
    torch.manual_seed(1)
    ids = torch.randint(VOCABULARY, (1, N))
    labels = torch.cat([ids[:, 1:], torch.full((1, 1), -100)], 1)  # shifted before sharding
    return ids, labels, torch.arange(N)[None]


def _loss(model, ids, labels, positions):
    """Averaged over the tokens of all ranks."""
    logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum") / (N - 1)


def _two_steps(model, context, summed):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, gradients = [], []
    for _ in range(2):
        ids, labels, positions = data = _data()
        with context(data):
            loss = _loss(model, ids, labels, positions)
            optimizer.zero_grad()
            loss.backward()
        loss = loss.detach()
        if summed:
            dist.all_reduce(loss)
            for parameter in model.parameters():
                if parameter.grad is not None:
                    dist.all_reduce(parameter.grad)
        gradients.append([x.grad.clone() for x in model.parameters() if x.grad is not None])
        losses.append(loss)
        optimizer.step()
    return losses, gradients


def _check_training(make, rtol=1e-10, atol=1e-12, **how):
    expected = _two_steps(_made(make), lambda data: contextlib.nullcontext(), summed=False)
    sharded = lambda data: context_parallel(dist.group.WORLD, buffers=data, buffer_seq_dims=[1, 1, 1], **how)
    found = _two_steps(_made(make), sharded, summed=True)
    torch.testing.assert_close(found, expected, rtol=rtol, atol=atol)


def check_gpt_oss_trains_alike():
    for how in (dict(), dict(method="ring"), dict(method="ring", balance="none")):
        _check_training(_gpt_oss, **how)


# Its norms sum over tokens in float32, whatever the model's type is.
GEMMA_ROUNDING = dict(rtol=1e-5, atol=1e-7)


def check_gemma_trains_alike():
    for how in (dict(), dict(method="ring"), dict(balance="none")):
        _check_training(_gemma, **GEMMA_ROUNDING, **how)


def check_padding_is_seen_by_all():
    """A key mask is a buffer like the others; some ranks have no padding."""
    ids, _, positions = [torch.cat([x, x], 0) for x in _data()]
    mask = torch.ones_like(ids)
    mask[0, :9] = 0
    model = _made(_gemma).eval()
    with torch.no_grad():
        expected = model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False).logits
        whole = mask.clone()
        for method in ("allgather", "ring"):
            buffers = [ids, positions, mask]
            with context_parallel(dist.group.WORLD, buffers=buffers, buffer_seq_dims=[1] * 3, method=method) as plan:
                own = lambda x: plan.layout_of_whole(N).shard(x, plan.rank, 1)
                found = model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False).logits
            seen = own(whole).bool()  # rows of padding are unspecified
            torch.testing.assert_close(found[seen], own(expected)[seen], rtol=1e-5, atol=1e-7)


def check_heads_are_exchanged():
    if dist.get_world_size() == 2:
        _check_training(_gpt_oss, method="ulysses")
        _check_training(_gemma, **GEMMA_ROUNDING, method="ulysses")


class Block(nn.Module):
    """A plain PyTorch layer, checkpointed or not."""

    def __init__(self, checkpointed=False, attention=None):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.checkpointed, self.attention = checkpointed, attention

    def forward(self, x):
        return checkpoint(self._attend, x, use_reentrant=False) if self.checkpointed else self._attend(x)

    def _attend(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        attention = self.attention or F.scaled_dot_product_attention
        return self.out(attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


def _plain(checkpointed=False, attention=None):
    torch.manual_seed(0)
    return Block(checkpointed, attention).double(), torch.randn(1, N, 16, dtype=torch.float64)


def check_plain_pytorch_with_checkpoints():
    block, x = _plain()
    y = block(x)
    y.square().sum().backward()
    expected = [p.grad for p in block.parameters()]
    for checkpointed in (False, True):
        block, x = _plain(checkpointed)
        with context_parallel(dist.group.WORLD, buffers=[x], buffer_seq_dims=[1]) as plan:
            block(x).square().sum().backward()
        assert x.shape[1] == N and plan.calls == 1 + checkpointed
        for p, gradient in zip(block.parameters(), expected):
            dist.all_reduce(p.grad)
            torch.testing.assert_close(p.grad, gradient, rtol=0, atol=1e-12)


def check_a_forward_is_not_repeated_outside():
    """PyTorch itself detects this where its own attention is called."""
    for attention, message in {
        isentropic.attention: "repeated outside of context_parallel",
        None: "different number of tensors was saved",
    }.items():
        block, x = _plain(True, attention)
        with context_parallel(dist.group.WORLD, buffers=[x], buffer_seq_dims=[1]):
            loss = block(x.clone()).square().sum()  # the buffer itself is restored afterwards
        with pytest.raises(RuntimeError, match=message):
            loss.backward()


def check_a_backward_pass_may_come_later():
    """The group is kept alive: only recomputation needs the context."""
    block, x = _plain()
    with context_parallel(dist.group.WORLD, buffers=[x], buffer_seq_dims=[1], method="ring"):
        loss = block(x.clone()).square().sum()
    loss.backward()
    reference, x = _plain()
    reference(x).square().sum().backward()
    for p, q in zip(block.parameters(), reference.parameters()):
        dist.all_reduce(p.grad)
        torch.testing.assert_close(p.grad, q.grad, rtol=0, atol=1e-12)


def check_unseen_attention_is_refused():
    model = _made(_gemma, "eager")
    ids, labels, positions = data = _data()
    with pytest.raises(RuntimeError, match="Gemma2Attention made no call of isentropic.attention"):
        with context_parallel(dist.group.WORLD, buffers=data, buffer_seq_dims=[1, 1, 1]):
            _loss(model, ids, labels, positions)
    assert ids.shape == (1, N)  # restored all the same


def check_mistakes_are_named():
    world, size = dist.group.WORLD, dist.get_world_size()
    x = torch.zeros(1, N + 1, 4)
    for message, call in {
        f"has {N + 1} positions; expected a multiple of {2 * size}": lambda: context_parallel(
            world, buffers=[x], buffer_seq_dims=[1]
        ),
        "method is 'rings'": lambda: context_parallel(world, method="rings"),
        "buffer_seq_dims has 0 entries; expected 1": lambda: context_parallel(world, buffers=[x]),
        "group is a NoneType": lambda: context_parallel(None),
        "group is a mesh of 2 axes": lambda: context_parallel(init_device_mesh("cpu", (1, dist.get_world_size()))),
    }.items():
        with pytest.raises((ValueError, TypeError), match=message):
            with call():
                pass
    q = torch.zeros(1, 3, 8, 4)
    with pytest.raises(ValueError, match="query has 3 heads; expected a multiple"):
        isentropic.attention(q, q, q, group=isentropic.distributed.ContextParallel(world, method="ulysses"))
    ring = isentropic.distributed.ContextParallel(world, method="ring")
    with pytest.raises(ValueError, match="map is 'sparsemax', which needs whole rows; expected method 'allgather'"):
        isentropic.attention(q, q, q, map="sparsemax", group=ring)
    with pytest.raises(ValueError, match="key has 4 positions; expected 8"):
        isentropic.attention(q, q[:, :, :4], q[:, :, :4], group=world)


def check_disagreement_is_found():
    q = torch.zeros(1, 2, 8, 4)
    isentropic.distributed.set_debug(True)
    try:
        with pytest.raises(ValueError, match="attention: problem is .* on rank 0"):
            isentropic.attention(q, q, q, is_causal=dist.get_rank() == 0, group=dist.group.WORLD)
    finally:
        isentropic.distributed.set_debug(False)
