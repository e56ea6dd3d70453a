"""Attention on a GPU: every mask, scale, term, type and head size gives float64's values and gradients on the CPU."""

import pytest
import torch
from cuda_cases import CASES, MAPS, REASON, TYPES, Shape, assert_as_on_the_cpu, assert_near, run

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason=REASON)

NARROW = (torch.bfloat16, torch.float16)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", [case for case in CASES if case not in MAPS])
def test_cases(case, dtype):
    assert_as_on_the_cpu(case, dtype=dtype)


@pytest.mark.parametrize("case", MAPS)
def test_other_maps(case):
    assert_as_on_the_cpu(case, dtype=torch.float64)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("d, d_v", [(16, 16), (40, 40), (64, 48), (80, 80), (96, 96), (128, 128), (128, 64), (192, 128), (256, 256)])  # fmt: skip
def test_head_sizes(d, d_v, dtype):
    for case in ("causal", "sink and everything"):
        assert_as_on_the_cpu(case, Shape(d=d, d_v=d_v, n_q=70, n_k=131), dtype)


# Without argmax, for which wide heads need the plain kernels.
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("d, d_v", [(40, 40), (128, 128), (128, 64), (192, 128), (256, 256)])
@pytest.mark.parametrize("case", ["boolean mask", "additive mask", "padding mask", "soft cap and bias", "relative", "strided", "block sparse"])  # fmt: skip
def test_head_sizes_with_dense_terms(case, d, d_v, dtype):
    shape = Shape(d=d, d_v=d_v, n_q=70, n_k=131)
    assert_as_on_the_cpu(case, shape, dtype, statistics=("entropy", "score_variance", "collision", "visible"))


# The first key outweighs the others by 2^40 or more, or is outweighed.
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("d", [64, 128])
def test_groups_beside_a_towering_first_key(d, dtype):
    def edit(q, k, v):
        k[:, :, 0] = 0.0
        k[:, :, 0, 0] = 64.0
        q[:, :, ::3, 0], q[:, :, 1::3, 0] = -8.0, 8.0

    assert_as_on_the_cpu("groups", Shape(d=d, d_v=d), dtype, edit=edit, outlier=64.0)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=str)
@pytest.mark.parametrize("n_q, n_k", [(1, 1), (1, 1000), (3, 700), (17, 15), (63, 65), (64, 64), (128, 128), (129, 127), (257, 300)])  # fmt: skip
def test_lengths(n_q, n_k, dtype):
    for case in ("full", "causal", "causal end"):
        assert_as_on_the_cpu(case, Shape(n_q=n_q, n_k=n_k), dtype)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=str)
@pytest.mark.parametrize("heads, kv_heads", [(1, 1), (3, 1), (8, 8), (32, 4)])
def test_heads(heads, kv_heads, dtype):
    for case in ("causal", "ALiBi", "log_n"):
        assert_as_on_the_cpu(case, Shape(heads=heads, kv_heads=kv_heads, n_q=65, n_k=65), dtype)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float64), ids=str)
@pytest.mark.parametrize("size", [1e-3, 10.0, 100.0, 1e4])
def test_sizes_of_scores(size, dtype):
    for case in ("full", "causal", "sink"):
        assert_as_on_the_cpu(case, dtype=dtype, size=size, cancels=size > 100 and dtype in NARROW)


@pytest.mark.parametrize("dtype", (torch.float32, *NARROW), ids=str)
def test_outliers(dtype):
    def edit(q, k, v):
        q[0, :, 7], k[0, :, 11], k[1, :, 60], v[1, :, 30] = q[0, :, 7] * 32, k[0, :, 11] * 32, 0.0, v[1, :, 30] * 128

    for case in ("full", "causal"):
        assert_as_on_the_cpu(case, dtype=dtype, size=30.0, edit=edit, outlier=32.0, cancels=dtype in NARROW)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_equal_scores(dtype):
    def edit(q, k, v):
        k.copy_(k[:, :, :1].expand_as(k))

    values, _ = run("causal end", Shape(n_q=64, n_k=64), dtype, "cuda", False, edit=edit)
    expected = torch.arange(1, 65, dtype=torch.float64).log().expand(2, 4, 64)
    assert_near("entropy", values["entropy"], expected, 1e-6)
    assert_near("score_variance", values["score_variance"], torch.zeros_like(expected), 1e-2)
    assert_near("collision", values["collision"], (-expected).exp(), 1e-6)


def test_several_seeds():
    for seed in range(1, 6):
        for case in ("causal", "documents", "sink and everything"):
            assert_as_on_the_cpu(case, dtype=torch.bfloat16, seed=seed)
