"""Monitors' results reach loggers; none of the loggers' packages is needed."""

import sys
import types

import pytest
import torch
from watched import HEADS, Attention, Model, inputs

import isentropic
from isentropic import loggers

pytestmark = pytest.mark.usefixtures("one_thread")


class Writer:
    """Mimics a SummaryWriter of TensorBoard."""

    def __init__(self):
        self.written = []

    def add_scalar(self, tag, scalar_value, global_step=None):
        self.written.append((tag, scalar_value, global_step))


class Run:
    """Mimics a run of Weights & Biases."""

    def __init__(self):
        self.logged = []

    def log(self, data, step=None, commit=None):
        self.logged.append((data, step, commit))


def test_every_watched_step_is_logged():
    model, writer, run = Model(Attention()), Writer(), Run()
    with isentropic.Monitor(model, every=2, log_to=[writer, run]) as monitor:
        for seed in range(3):
            model(inputs(seed))
            monitor.step()
    assert {step for _, _, step in writer.written} == {0, 2}
    assert ("attention/layers.0/head1/entropy", monitor.last["layers.0"]["entropy"][1], 2) in writer.written
    assert [commit for _, _, commit in run.logged] == [False, False]  # merged with what the user logs
    assert run.logged[1][0] == monitor.scalars()


def test_one_number_for_each_layer():
    model, run = Model(Attention(), Attention()), Run()
    with isentropic.Monitor(model) as monitor:
        model(inputs())
    loggers.log(monitor, run, step=7, heads=False)
    ((scalars, step, _),) = run.logged
    record = monitor.last["layers.1"]
    assert step == 7 and len(scalars) == 2 * len(record)
    assert scalars["attention/layers.1/entropy"] == pytest.approx(sum(record["entropy"]) / HEADS)
    assert scalars["attention/layers.1/max_score"] == max(record["max_score"])
    assert scalars["attention/layers.1/least_normalised_entropy"] == min(record["least_normalised_entropy"])


def test_what_is_not_a_number_is_left_out():
    model, writer = Model(Attention()), Writer()
    with isentropic.Monitor(model, fewest_keys=1000, log_to=writer) as monitor:
        model(inputs())
    names = {tag.rsplit("/")[-1] for tag, _, _ in writer.written}
    assert "entropy" in names and "normalised_entropy" not in names
    assert "attention/layers.0/normalised_entropy" not in monitor.scalars(heads=False)


def test_qk_clip_has_scalars_too():
    model, run = Model(isentropic.nn.MultiHeadAttention(12, 3)), Run()
    model.layers[0].register_forward_hook(lambda module, args, output: output[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with isentropic.QKClip(model, optimizer, threshold=0.01) as clip:
        loggers.log(clip, run)
        model(inputs())
        optimizer.step()
    loggers.log(clip, run)
    loggers.log(clip, run, heads=False)
    empty, heads, layers = (data for data, _, _ in run.logged)
    assert empty == {} and heads["qk_clip/layers.0/head2/scale"] < 1
    assert layers["qk_clip/layers.0/scale"] == min(clip.last["layers.0"]["scale"])


def test_other_loggers_are_refused():
    with pytest.raises(TypeError, match="log_to is a str; expected a SummaryWriter of TensorBoard or a run"):
        isentropic.Monitor(Model(), log_to="runs")


def test_the_callback_of_the_trainer(monkeypatch):
    transformers = pytest.importorskip("transformers")
    writer, run = Writer(), Run()
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(run=run))
    callback = loggers.MonitorCallback(log_to=writer, collapse=None)
    assert isinstance(callback, transformers.TrainerCallback)
    model = Model(Attention())
    state, control = transformers.TrainerState(), transformers.TrainerControl()
    handler = transformers.trainer_callback.CallbackHandler([callback], model, None, None, None)
    arguments = types.SimpleNamespace()
    handler.on_train_begin(arguments, state, control)
    for step in (1, 2):
        model(inputs(step))
        state.global_step = step
        handler.on_step_end(arguments, state, control)
        state.log_history.append({"loss": 1.0, "step": step})
        handler.on_log(arguments, state, control, {"loss": 1.0})
    handler.on_train_end(arguments, state, control)
    scalars = callback.monitor.scalars(heads=False)
    assert list(callback.monitor.history) == [0, 1]
    assert state.log_history[-1] == {"loss": 1.0, "step": 2, **scalars}
    assert run.logged[-1][0] == {**scalars, "train/global_step": 2}
    assert {step for _, _, step in writer.written} == {1, 2}


def test_the_callback_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(vars(loggers), "MonitorCallback", raising=False)
    with pytest.raises(ImportError, match="needs transformers"):
        loggers.MonitorCallback
    with pytest.raises(AttributeError, match="no attribute 'Other'"):
        loggers.Other
