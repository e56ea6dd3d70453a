"""Monitor and QKClip over ranks: the same results as one process with the whole batch."""

import contextlib
import warnings

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from watched import Attention, Model, inputs

import isentropic

WORLD = 4  # entries of the whole batch, a multiple of every world size


def whole(seed=1):
    return torch.cat([inputs(seed + 10 * part) for part in range(WORLD // 2)])


def own(batch):
    return batch.chunk(dist.get_world_size())[dist.get_rank()]


def models():
    """The same models on every rank."""
    torch.manual_seed(1)
    return Model(Attention(soft_cap=3.0), Attention(sink=torch.zeros(3)))


@contextlib.contextmanager
def collectives():
    """Yields the names of the collectives called inside."""
    called, names = [], ("all_reduce", "all_gather_object", "all_gather", "broadcast", "reduce", "barrier")
    before = {name: getattr(dist, name) for name in names}

    def counting(name):
        return lambda *args, **kwargs: (called.append(name), before[name](*args, **kwargs))[1]

    for name in names:
        setattr(dist, name, counting(name))
    try:
        yield called
    finally:
        for name in names:
            setattr(dist, name, before[name])


def assert_same(one, other, tolerance=1e-12):
    assert list(one) == list(other)
    for layer, record in one.items():
        assert record.keys() == other[layer].keys()
        for name, values in record.items():
            assert other[layer][name] == pytest.approx(values, rel=tolerance, nan_ok=True), (layer, name)


def check_ranks_together_say_what_one_process_says():
    model = models()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with isentropic.Monitor(model, optimizer=optimizer, group=dist.group.WORLD) as monitor:
        for step in range(2):
            for micro_batch in range(2):
                model(own(whole(2 * step + micro_batch))).sum().backward()
            optimizer.step()
    with isentropic.Monitor(model) as alone:
        for step in range(2):
            for micro_batch in range(2):
                model(whole(2 * step + micro_batch))
            alone.step()
    assert list(monitor.history) == [0, 1]
    for step in range(2):
        assert_same(monitor.history[step], alone.history[step])
    assert {"max_uncapped_score", "least_normalised_entropy"} <= monitor.last["layers.0"].keys()
    assert "sink_mass" in monitor.last["layers.1"]


def check_a_step_takes_two_collectives():
    model = models()
    with isentropic.Monitor(model, group=init_device_mesh("cpu", (dist.get_world_size(),))) as monitor:
        for step in range(3):
            model(own(whole()))
            with collectives() as called:
                monitor.step()
            # On the first step the ranks agree on what exists.
            assert called == ["all_gather_object"] * (step == 0) + ["all_reduce"] * 2


def check_ranks_may_meet_different_layers():
    model, rank = models(), dist.get_rank()
    with isentropic.Monitor(model, group=dist.group.WORLD) as monitor:
        if rank == 0:
            model.layers[0](inputs())
        monitor.step()
        if rank > 0:
            model.layers[1](inputs())
        monitor.step()
        monitor.step()  # no rank runs anything
        model(own(whole()))
    assert [list(layers) for layers in monitor.history.values()] == [
        ["layers.0"],
        ["layers.1"],
        ["layers.0", "layers.1"],
    ]
    assert list(monitor.history) == [0, 1, 3]
    with isentropic.Monitor(model) as alone:
        model(whole())
    assert_same(monitor.last, alone.last)


def check_compiled_models_that_are_copied_or_sharded():
    if dist.get_world_size() > 2:
        return  # every rank compiles, which is slow
    model = models()
    with isentropic.Monitor(model) as alone:
        model(whole())
    with isentropic.Monitor(
        model, group=dist.group.WORLD
    ) as monitor:  # first, as its tallies are not buffers to broadcast
        compiled = torch.compile(DistributedDataParallel(model), backend="aot_eager")
        compiled(own(whole())).sum().backward()
    assert_same(alone.last, monitor.last, tolerance=1e-6)
    model = models()
    for layer in model.layers:
        layer.compile(backend="eager")
        fully_shard(layer)
    with isentropic.Monitor(fully_shard(model), group=dist.group.WORLD) as monitor:
        model(own(whole())).sum().backward()
    assert_same(alone.last, monitor.last, tolerance=1e-6)


def check_a_nan_on_one_rank_is_everybodys_alarm():
    model = models()
    x = own(whole()).clone()
    if dist.get_rank() == dist.get_world_size() - 1:
        x[0, 3, 0] = torch.nan
    with isentropic.Monitor(model, group=dist.group.WORLD) as monitor:
        model(x)
    assert {alarm.kind for alarm in monitor.alarms} == {"nan"}


def check_a_rank_that_fails_waits_for_nobody():
    model = models()
    with contextlib.suppress(ZeroDivisionError), isentropic.Monitor(model, group=dist.group.WORLD):
        model(own(whole()))
        with collectives() as called:
            1 / 0
    assert called == []


# ---- QK-clip ----


class ProjectedAttention(torch.nn.Module):
    """Three heads with their own keys, or sharing one."""

    def __init__(self, kv_heads=3):
        super().__init__()
        self.num_heads, self.kv_heads = 3, kv_heads
        self.q_proj = torch.nn.Linear(12, 12)
        self.k_proj, self.v_proj = (torch.nn.Linear(12, 4 * kv_heads) for _ in range(2))

    def forward(self, x):
        query, key, value = (
            layer(x).unflatten(-1, (-1, 4)).transpose(1, 2) for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        return x + isentropic.attention(query, key, value, is_causal=True, enable_gqa=True).transpose(1, 2).flatten(2)


def clipped(shard=False, ranks=True, threshold=0.05, steps=2):
    """A model's weights after some steps with QK-clip, and what it reported for each."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(ProjectedAttention(), ProjectedAttention(kv_heads=1))
    if shard:
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    group = dist.group.WORLD if ranks else None
    said = []
    with isentropic.QKClip(model, optimizer, threshold=threshold, alpha=0.3, group=group) as clip:
        for step in range(steps):
            optimizer.zero_grad()
            model(own(whole(step)) if ranks else whole(step)).square().mean().backward()
            if ranks and not shard:
                for parameter in model.parameters():
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= dist.get_world_size()
            with collectives() as called:
                optimizer.step()
            assert called == ["all_reduce"] * ranks
            said.append(clip.last)
    whole_of = (p.full_tensor() if shard else p for p in model.parameters())
    return [p.detach().clone() for p in whole_of], said


def check_qk_clip_takes_the_maximum_of_all_ranks():
    expected, said = clipped(ranks=False)
    assert all(max(record["scale"]) < 1 for record in said[0].values())
    found, heard = clipped()
    for one, other in zip(said, heard, strict=True):
        assert_same(one, other, tolerance=1e-5)
    for ours, wanted in zip(found, expected):
        torch.testing.assert_close(ours, wanted)


def check_qk_clip_scales_shards_where_they_lie():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _ = clipped(shard=True)
    for ours, wanted in zip(found, clipped(ranks=False)[0]):
        torch.testing.assert_close(ours, wanted)
