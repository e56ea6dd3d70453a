"""A program that uses the package, for mypy: correct calls, and wrong ones that it must reject. Where types are lost
nothing is rejected, and mypy reports an unused ignore."""

import numpy
import torch

import isentropic

query, key, value = torch.randn(3, 1, 2, 16, 8).unbind(0)
x, y = numpy.random.default_rng(1).normal(size=(2, 100))

isentropic.attention(query, key, value, is_causal=True, soft_cap=30.0)
isentropic.attention(query, key, value, soft_cap="30")  # type: ignore[arg-type]

loss: isentropic.Loss = isentropic.info_nce(query[0, 0], key[0, 0], reduction="sum")
isentropic.info_nce(query[0, 0], key[0, 0], reduction=0)  # type: ignore[arg-type]

heads: isentropic.Scan = isentropic.scan("gpt2", "a text", length=128)
isentropic.scan("gpt2", "a text", length="128")  # type: ignore[arg-type]

nats: float = isentropic.information.mutual_information(x, y, estimator="ksg", k=3)
isentropic.information.mutual_information(x, y, k="3")  # type: ignore[arg-type]
name: str = isentropic.information.mutual_information(x, y)  # type: ignore[assignment]
p: float = isentropic.information.permutation_significance(x, y).p_value
isentropic.information.permutation_significance(x, y).q_value  # type: ignore[attr-defined]
