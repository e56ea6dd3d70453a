"""Observers: the statistics of every call, whatever the caller requested."""

import pytest
import torch
from watched import HEADS, Watcher, tensors

import isentropic
from isentropic import _observe

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_caller_gets_what_it_asked_for():
    q, k, v = tensors()
    alone, alone_aux = isentropic.attention(q, k, v, statistics="entropy", return_aux=True)
    with Watcher("peak", "visible") as watcher:
        watched, aux = isentropic.attention(q, k, v, statistics="entropy", return_aux=True)
        plain = isentropic.attention(q, k, v)
    assert torch.equal(watched, alone) and torch.equal(plain, alone)
    assert aux.as_dict().keys() == {"entropy"}
    assert torch.equal(aux.entropy, alone_aux.entropy)
    assert [report.as_dict().keys() for report in watcher.reports] == [{"peak", "visible"}] * 2
    (alone.sum() + alone_aux.entropy.square().sum()).backward()
    expected = [t.grad for t in (q, k, v)]
    q.grad = k.grad = v.grad = None
    (watched.sum() + aux.entropy.square().sum()).backward()
    assert all(torch.equal(t.grad, grad) for t, grad in zip((q, k, v), expected))


def test_observers_get_detached_statistics():
    q, k, v = tensors()
    with Watcher("entropy") as watcher:
        _, aux = isentropic.attention(q, k, v, statistics="entropy", return_aux=True)
    assert aux.entropy.requires_grad
    assert not watcher.reports[0].entropy.requires_grad
    assert torch.equal(watcher.reports[0].entropy, aux.entropy)


def test_nobody_is_told_after_the_end():
    q, k, v = tensors()
    with Watcher("entropy") as watcher:
        pass
    isentropic.attention(q, k, v)
    assert not watcher.reports and not _observe.is_watched()


def test_statistics_that_a_call_does_not_have_are_left_out():
    q, k, v = tensors()
    wanted = ("entropy", "sink_mass", "log_partition", "first_mass")
    with Watcher(*wanted) as watcher:
        isentropic.attention(q, k, v)
        isentropic.attention(q, k, v, sink=torch.zeros(HEADS))
        isentropic.attention(q, k, v, map="sigmoid")
        isentropic.attention(q, k, v, map="sparsemax")
        isentropic.attention(q, k, v, groups=(4, 8), return_aux=True)
    found = [set(report.as_dict()) for report in watcher.reports]
    softmax = {"entropy", "log_partition", "first_mass"}
    assert found == [softmax, set(wanted), set(), {"entropy"}, softmax - {"first_mass"}]


def test_wanting_all_is_wanting_what_the_caller_would_get():
    q, k, v = tensors()
    with Watcher("all") as watcher:
        isentropic.attention(q, k, v)
    aux = isentropic.attention(q, k, v, return_aux=True)[1]
    assert watcher.reports[0].as_dict().keys() == aux.as_dict().keys()


def test_statistics_alone_are_not_a_call():
    q, k, _ = tensors()
    with Watcher("entropy") as watcher:
        isentropic.attention_statistics(q, k)
    assert not watcher.reports
