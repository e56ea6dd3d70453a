"""Common mistakes when a sequence is split over ranks: the right way matches one process, the wrong way does not."""

import contextlib
import functools

import torch
import torch.distributed as dist
import torch.nn.functional as F
from distributed.loss_cases import summed
from torch import nn

import isentropic
from isentropic.distributed import context_parallel

VOCABULARY, WIDTH, HEADS, LAYERS, N, BATCH, NONE = 11, 12, 2, 2, 32, 2, -100
METHODS = ("allgather", "ring")
TOLERANCE = 1e-12
DIFFERENT = 1e-4  # the least difference that a forgotten step makes


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
        self.out, self.feed = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, cosine, sine):
        parts = self.mix(self.norm(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        query, key = (_rotated(part, cosine, sine) for part in (query, key))
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        return x + self.feed(x).tanh()


class Transformer(nn.Module):
    """Plain PyTorch: learnt and rotary positions, causal attention, a head. None of it knows about ranks."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(N, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, positions):
        x = self.tokens(ids) + self.places(positions)
        half = WIDTH // HEADS // 2
        angles = positions[:, None, :, None] * 0.3 ** torch.arange(half, dtype=torch.float64)
        for block in self.blocks:
            x = block(x, angles.cos(), angles.sin())
        return self.head(x)


def _rotated(x, cosine, sine):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cosine - b * sine, a * sine + b * cosine], -1)


def _model():
    torch.manual_seed(1)
    return Transformer().double()


def _batch():
    """Tokens, labels shifted over the whole sequence, positions. Some labels do not count, e.g. prompts."""
    random = torch.Generator().manual_seed(2)
    ids = torch.randint(VOCABULARY, (BATCH, N), generator=random)
    labels = torch.cat([ids[:, 1:], torch.full((BATCH, 1), NONE)], 1)
    labels[0, :13], labels[1, :3] = NONE, NONE
    return ids, labels, torch.arange(N).expand(BATCH, N).clone()


def _unshifted():
    """Labels for models that shift them themselves: the token itself, where it counts."""
    labels = _batch()[1]
    return torch.cat([torch.full((BATCH, 1), NONE), labels[:, :-1]], 1)


def _total(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=NONE, reduction="sum")


def _count(labels):
    return (labels != NONE).sum()


def _of_parameters(loss, model):
    return torch.autograd.grad(loss, list(model.parameters()))


def _alone():
    """Logits, loss and gradients of a single process with the whole sequence."""
    model, (ids, labels, positions) = _model(), _batch()
    logits = model(ids, positions)
    loss = _total(logits, labels) / _count(labels)
    return logits.detach(), loss.detach(), _of_parameters(loss, model)


@contextlib.contextmanager
def _sharded(method):
    """A model and this rank's shard of tokens, labels and positions, inside the context."""
    batch = _batch()
    with context_parallel(
        dist.group.WORLD, buffers=batch, buffer_seq_dims=[1, 1, 1], method=method, balance="head_tail"
    ) as plan:
        assert batch[0].shape == (BATCH, N // dist.get_world_size())
        yield plan, _model(), *batch
    assert all(torch.equal(x, y) for x, y in zip(batch, _batch()))  # restored to the whole


def _same(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=0, atol=TOLERANCE)


def _other(found, wanted):
    off = (found - wanted).abs().max()
    assert off > DIFFERENT, f"the wrong way is off by {off} only"


def check_labels_are_shifted_before_sharding():
    _, loss, _ = _alone()
    everything = _count(_batch()[1])
    for method in METHODS:
        with _sharded(method) as (plan, model, ids, labels, positions):
            logits = model(ids, positions)
            count = summed(_count(labels))
            assert count == everything
            _same(summed(_total(logits, labels).detach()) / count, loss)
            # Shifted within the shard, its last token loses its label, and where the head meets the tail the label
            # belongs to another place.
            late = plan.layout_of_whole(N).shard(_unshifted(), plan.rank, 1)[:, 1:]
            count = summed(_count(late))
            assert count < everything
            _other(summed(_total(logits[:, :-1], late).detach()) / count, loss)


def check_positions_are_buffers():
    whole, loss, _ = _alone()
    for method in METHODS:
        with _sharded(method) as (plan, model, ids, labels, positions):
            here = plan.layout_of_whole(N).shard(whole, plan.rank, 1)
            _same(model(ids, positions).detach(), here)
            from_zero = torch.arange(ids.shape[1]).expand_as(ids)
            logits = model(ids, from_zero)
            _other(logits.detach(), here)
            _other(summed(_total(logits, labels).detach()) / summed(_count(labels)), loss)


def check_the_loss_is_divided_by_all_tokens():
    _, loss, gradients = _alone()
    for method in METHODS:
        with _sharded(method) as (_, model, ids, labels, positions):
            total, here = _total(model(ids, positions), labels), _count(labels)
            _same(summed((total / summed(here)).detach()), loss)
            mean_of_means = total / here / dist.get_world_size()
            _other(summed(mean_of_means.detach()), loss)
            found = [summed(x) for x in _of_parameters(mean_of_means, model)]
            _other(_flat(found), _flat(gradients))


def check_gradients_are_summed_over_ranks():
    _, _, gradients = _alone()
    for method in METHODS:
        with _sharded(method) as (_, model, ids, labels, positions):
            loss = _total(model(ids, positions), labels) / summed(_count(labels))
            own = _of_parameters(loss, model)  # inside: attention's backward pass communicates too
        found = [summed(x) for x in own]
        for x, y in zip(found, gradients):
            _same(x, y)
        _other(_flat(own), _flat(gradients))
        _other(_flat(found) / dist.get_world_size(), _flat(gradients))  # the result of averaging


def check_hugging_face_is_told_all_of_it():
    """Its models shift labels, count positions and take means themselves unless told otherwise."""
    import transformers

    isentropic.hf.register()
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=LAYERS, num_attention_heads=4,
        max_position_embeddings=N, attn_implementation="isentropic", bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).double()
    ids, labels, positions, unshifted = batch = (*_batch(), _unshifted())
    count = int(_count(labels))

    def told():
        # With a mask of ones, a jump in positions is not mistaken for the start of another document.
        return model(
            ids, attention_mask=torch.ones_like(ids), position_ids=positions, labels=labels, shift_labels=labels,
            num_items_in_batch=count, use_cache=False,
        ).loss  # fmt: skip

    def untold():
        return model(ids, labels=unshifted).loss.detach()

    close = functools.partial(torch.testing.assert_close, rtol=1e-6, atol=0)  # these losses are float32
    loss = told()
    gradients = _of_parameters(loss, model)
    close(untold(), loss.detach())  # in a single process both are the same
    for method in METHODS:
        with context_parallel(dist.group.WORLD, buffers=batch, buffer_seq_dims=[1] * 4, method=method):
            found = told()
            own = _of_parameters(found, model)
            forgotten = untold() / dist.get_world_size()
        close(summed(found.detach()), loss.detach())
        torch.testing.assert_close(_flat([summed(x) for x in own]), _flat(gradients), rtol=0, atol=1e-8)
        _other(summed(forgotten), loss.detach())


def _flat(tensors):
    return torch.cat([x.flatten() for x in tensors])
