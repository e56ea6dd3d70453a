"""isentropic scan --theory: its results for scores and noise, against those computed from Hugging Face's matrices."""

import math

import pytest
import torch
from transformers import AutoModelForCausalLM

from test_models import DECODERS, build
from test_scan_alternatives import IDS, Plain
from test_scan_program import MODELS, scan

ROWS = [30 + i * 30 // 16 for i in range(16)]  # sixteen rows of the second half
SIGMA = 0.2
RATIO = math.expm1(SIGMA**2)  # Var(e^eps) / (E e^eps)^2 for Gaussian noise


@pytest.mark.parametrize("case", ["llama", "mistral"])
def test_numbers_are_those_of_the_attention_matrices(case, tmp_path):
    model = build(AutoModelForCausalLM, *DECODERS[case])
    model.save_pretrained(tmp_path)
    (tmp_path / "ids.json").write_text(str(IDS))
    found = scan(tmp_path, "--ids", tmp_path / "ids.json", "--length", len(IDS), "--noise", f"gaussian:{SIGMA}")
    plain = Plain()
    plain.run(model, IDS)
    heads = iter(found["theory"]["heads"])
    for weights, values in zip(plain.weights, plain.values):
        for a, v in zip(weights[:, ROWS], values):
            head = next(heads)
            moments = []
            for row in a:
                scores = row[row > 0].log()
                off = scores - scores.mean()
                moments.append([off.pow(k).mean() for k in (2, 3, 4)] + [math.log(len(scores))])
            second, third, fourth, log_n = torch.tensor(moments).double().unbind(-1)
            assert head["spread"] == pytest.approx(second.mean().sqrt().item(), rel=1e-3)
            assert head["freezing_point"] == pytest.approx(math.sqrt(2 * log_n.mean()), rel=1e-4)
            assert head["skewness"] == pytest.approx((third / second**1.5).mean().item(), rel=1e-2, abs=1e-3)
            assert head["excess_kurtosis"] == pytest.approx((fourth / second**2).mean().item() - 3, rel=1e-2, abs=1e-3)
            assert head["entropy"] == pytest.approx(torch.special.entr(a).sum(-1).mean().item(), rel=1e-3)
            output = a @ v
            size = output.norm(dim=-1).mean().item()
            off = v - output[:, None]  # [row, key, d]
            fluctuation = (a.square() * off.square().sum(-1)).sum(-1).mean()
            bias = (a.square()[..., None] * off).sum(1).norm(dim=-1).mean()
            assert head["predicted_rms"] == pytest.approx((RATIO * fluctuation).sqrt().item() / size, rel=1e-3)
            assert head["predicted_bias"] == pytest.approx(RATIO * bias.item() / size, rel=1e-3)
            gain = torch.linalg.matrix_norm(a[..., None] * off, 2).mean().item() / size
            assert head["worst_gain"] == pytest.approx(gain, rel=1e-3)
            top = a.topk(32, -1)
            kept = torch.zeros_like(a).scatter(-1, top.indices, top.values)
            left_out = 1 - kept.sum(-1)
            change = (kept / kept.sum(-1, keepdim=True) @ v - output).norm(dim=-1).mean().item() / size
            bound = 2 * left_out.mean().item() * (v - v.mean(0)).norm(dim=-1).max().item() / size
            assert head["left_out"] == pytest.approx(left_out.mean().item(), rel=1e-3, abs=1e-5)
            assert head["left_out_change"] == pytest.approx(change, rel=1e-3, abs=1e-5)
            assert head["left_out_bound"] == pytest.approx(bound, rel=1e-3, abs=1e-4)
            assert head["left_out_change"] <= head["left_out_bound"] + 1e-6
            # The measured values, over 64 draws for each of 16 rows.
            assert head["noise_rms"] == pytest.approx(head["predicted_rms"], rel=0.12)
            assert head["noise_bias"] == pytest.approx(head["predicted_bias"], rel=0.4, abs=2e-3)
    assert next(heads, None) is None


def matches(ids):
    """Rows and the key after the latest earlier occurrence of their token, if that is not their own."""
    out = []
    for i, token in enumerate(ids):
        earlier = [j for j in range(i) if ids[j] == token]
        if earlier and earlier[-1] + 1 < i:
            out.append((i, earlier[-1] + 1))
    return out


@pytest.mark.parametrize("case", ["llama", "mistral"])
def test_calibrated_factors_make_the_surprise_least(case, tmp_path):
    model = build(AutoModelForCausalLM, *DECODERS[case])
    model.save_pretrained(tmp_path)
    ids = IDS[:5] * 6 + IDS[10:20] * 3  # a window of 7 keys sees the matches of the first half only
    (tmp_path / "ids.json").write_text(str(ids))
    found = scan(tmp_path, "--ids", tmp_path / "ids.json", "--length", len(ids), "--calibrate")
    plain = Plain()
    plain.run(model, ids)
    known = matches(ids)
    assert len(known) <= 64
    heads, factors = iter(found["theory"]["heads"]), []
    for weights in plain.weights:
        for a in weights:
            head = next(heads)
            rows = [(a[i][a[i] > 0].log(), (a[i][:m] > 0).sum()) for i, m in known if a[i, m] > 0]
            logs = [scores.log_softmax(0) for scores, _ in rows]
            entropy = sum(-(log.exp() * log).sum() for log in logs) / len(rows)
            surprise = sum(-log[m] for log, (_, m) in zip(logs, rows)) / len(rows)
            assert head["match_entropy"] == pytest.approx(entropy.item(), rel=1e-3)
            assert head["match_surprise"] == pytest.approx(surprise.item(), rel=1e-3)

            def mean_surprise(f):
                return sum(torch.logsumexp(f * scores, 0) - f * scores[m] for scores, m in rows).item() / len(rows)

            factor = head.get("calibrated_factor")
            factors.append(factor)
            if factor is None:
                assert mean_surprise(1 / 256) <= mean_surprise(1 / 128)
            elif factor < 200:
                least = mean_surprise(factor)
                assert least <= min(mean_surprise(0.9 * factor), mean_surprise(1.1 * factor))
    assert any(factor is None for factor in factors) and any(factor is not None for factor in factors)


def test_gaussian_scores_have_the_entropy_of_their_spread():
    """The bundled model's layers without a window attend to content only, with nearly Gaussian scores."""
    found = scan(MODELS / "books", "--text", MODELS / "northanger.txt", "--length", 512, "--fast", "--theory")
    heads = [head for head, about in zip(found["theory"]["heads"], found["heads"]) if about["layer"] in (1, 3)]
    for head in heads:
        assert head["spread"] < head["freezing_point"]
        assert head["predicted_entropy"] == pytest.approx(head["entropy"], abs=0.3)
    off = sum(abs(head["predicted_entropy"] - head["entropy"]) for head in heads) / len(heads)
    assert off < 0.1 < math.log(512) - max(head["entropy"] for head in heads)


@pytest.mark.parametrize(
    "noise, message",
    [
        ("gaussian", "expected gaussian:SIGMA, uniform:HALF_WIDTH, laplace:SCALE or gumbel:TAU"),
        ("pink:1", "noise is 'pink:1'; expected gaussian:SIGMA"),
        ("gaussian:-1", "expected"),
        ("laplace:0.7", "--noise is laplace:0.7; expected a law with finite E e^(2 noise)"),
        ("gumbel:1.5", "expected a law with finite E e^(2 noise)"),
    ],
)
def test_mistakes_are_one_line(noise, message):
    error = scan(MODELS / "books", "--text", MODELS / "northanger.txt", "--noise", noise, status=2)
    assert message in error and len(error.strip().splitlines()) == 1
