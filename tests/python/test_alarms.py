"""Heads that collapse, disperse or break."""

import math

import pytest
import torch
from watched import LENGTH, Attention, Model, inputs

import isentropic

pytestmark = pytest.mark.usefixtures("one_thread")


class Sharp(Attention):
    """Heads whose queries are multiplied by ``factors``: a large factor sees one key, 0 all keys equally."""

    factors = (300.0, 20.0, 1.0)

    def project(self, x):
        query, key, value = super().project(x)
        return query * torch.tensor(self.factors)[:, None, None], key, value


def kinds(monitor):
    return [(alarm.kind, alarm.layer, alarm.head, alarm.step) for alarm in monitor.alarms]


def test_alarms_say_which_head():
    calls = []
    model = Model(Attention(), Sharp())
    with isentropic.Monitor(model, on_alarm=calls.append) as monitor:
        monitor.step()
        model(inputs())
        monitor.step()
        model.layers[1].factors = (300.0, 0.0, 1.0)
        model(inputs())
    assert kinds(monitor) == [("collapse", "layers.1", 0, 1), ("dispersion", "layers.1", 1, 2)]
    for alarm in monitor.alarms:
        assert alarm.value == monitor.history[alarm.step][alarm.layer]["normalised_entropy"][alarm.head]
        assert (alarm.value < 0.05) if alarm.kind == "collapse" else (alarm.value > 0.99)
    assert calls == monitor.alarms
    assert str(calls[0]).startswith("collapse: layers.1 head 0 has normalised entropy 0.0")


def test_an_untrained_model_raises_no_alarm():
    model = Model(Sharp())
    model.layers[0].factors = (0.0, 0.1, 0.3)
    with isentropic.Monitor(model) as monitor:
        for step in range(3):
            model(inputs(step))
            monitor.step()
    assert min(monitor.last["layers.0"]["normalised_entropy"]) > 0.99
    assert not monitor.alarms


def test_dispersion_is_told_again_only_after_the_head_was_focused_again():
    model = Model(Sharp())
    with isentropic.Monitor(model, collapse=None) as monitor:
        for factor in (20.0, 0.0, 0.0, 20.0, 0.0):
            model.layers[0].factors = (20.0, 20.0, factor)
            model(inputs())
            monitor.step()
    assert kinds(monitor) == [("dispersion", "layers.0", 2, 1), ("dispersion", "layers.0", 2, 4)]


@pytest.mark.parametrize("score_map, statistic", [("softmax", "entropy"), ("sigmoid", "peak")])
def test_nan_raises_an_alarm(score_map, statistic):
    model = Model(Sharp(map=score_map))
    with isentropic.Monitor(model, collapse=None) as monitor:
        for factor in (1.0, math.nan, math.nan, 1.0, math.nan):
            model.layers[0].factors = (1.0, factor, 1.0)
            model(inputs())
            monitor.step()
    assert kinds(monitor) == [("nan", "layers.0", 1, 1), ("nan", "layers.0", 1, 4)]
    assert str(monitor.alarms[0]) == f"nan: layers.0 head 1 has {statistic} nan at step 1"


@pytest.mark.parametrize("name, value", [("collapse", 1.5), ("dispersion", -0.1), ("dispersion", math.nan)])
def test_thresholds_are_normalised_entropies(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}; expected a normalised entropy, from 0 to 1"):
        isentropic.Monitor(Model(), **{name: value})


def test_an_alarm_comes_once_until_the_head_recovers():
    model = Model(Sharp())
    with isentropic.Monitor(model, dispersion=None) as monitor:
        for scale in (1.0, 1.0, 0.0, 1.0):
            model(inputs() * scale)
            monitor.step()
    assert [(a.kind, a.head, a.step) for a in monitor.alarms] == [("collapse", 0, 0), ("collapse", 0, 3)]


def test_short_rows_raise_no_alarm():
    model = Model(Attention())
    with isentropic.Monitor(model, fewest_keys=LENGTH + 1) as monitor:
        model(inputs())
    assert all(map(math.isnan, monitor.last["layers.0"]["normalised_entropy"]))
    assert not monitor.alarms
