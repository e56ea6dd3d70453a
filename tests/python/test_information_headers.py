"""isentropic.information against the C++ headers: what they declare is in Python, or here with the reason why not."""

import functools
import pathlib
import re

import pytest

from isentropic import information

HEADERS = pathlib.Path(__file__).parents[2] / "include" / "isentropic"
PACKAGES = {"information": information, "theory": information.theory}

# Functions, and methods as Struct.method, that have a different name in Python.
RENAMED = {
    "information": {
        # Here the estimator is an argument.
        "binned_mutual_information": "mutual_information",
        "discrete_mutual_information": "mutual_information",
        "estimate_information": "mutual_information",
        "gaussian_mutual_information_from_samples": "mutual_information",
        "ksg_conditional_mutual_information": "mutual_information",
        "ksg_mutual_information": "mutual_information",
        "mesner_shalizi_mutual_information": "mutual_information",
        # Here the graph is an argument.
        "causal_attention_graph": "path_lengths",
        "full_attention_graph": "path_lengths",
        "recurrent_graph": "path_lengths",
        "window_attention_graph": "path_lengths",
        "defects": "BottleneckCurve.defects",
        "estimate_correlation": "correlation",
    },
    "theory": {
        "one_sided_alibi_entropy": "alibi_entropy",
        # Here the law is an argument.
        "NoiseLaw.exponential_moment": "exponential_moment",
        "NoiseLaw.rate_exponent": "rate_exponent",
        "NoiseLaw.tail_index": "tail_index",
        "NoiseLaw.variance_ratio": "variance_ratio",
        "ScoreLaw.cosine": "expected_row",
        "ScoreLaw.exponential": "expected_row",
        "ScoreLaw.gaussian": "expected_row",
        "ScoreLaw.uniform": "expected_row",
    },
}

_WORDS = "Python writes choices as words"
_NUMPY = "NumPy does it"
LEFT_OUT = {
    "information": {
        "LayerEstimator.name": _WORDS,
        "LayerEstimator.named": _WORDS,
        "entropy_estimator_named": _WORDS,
        "information_estimator_named": _WORDS,
        "name": _WORDS,
        "Joint.marginal": _NUMPY,
        "Table.row": _NUMPY,
        "beside": _NUMPY,
        "column_marginal": _NUMPY,
        "row_marginal": _NUMPY,
    },
    "theory": {
        "NoiseLaw.family": _WORDS,
        "NoiseLaw.gaussian": _WORDS,
        "NoiseLaw.gumbel": _WORDS,
        "NoiseLaw.laplace": _WORDS,
        "NoiseLaw.parameter": _WORDS,
        "NoiseLaw.uniform": _WORDS,
    },
}


def declared_in(folder):
    """The headers' functions, and public methods as Struct.method; clang-format puts each at the start of a line."""
    names = set()
    for header in (HEADERS / folder).glob("*.hpp"):
        text = re.sub(r"//.*|^#.*", "", header.read_text(), flags=re.MULTILINE)
        names.update(re.findall(r"^(?:ISENTROPIC_API|inline) [^;={(]*?\b(\w+)\(", text, re.MULTILINE))
        structs = re.findall(
            r"^(?:struct|class) (?:ISENTROPIC_API )?(\w+) \{\n(.*?)^\};", text, re.MULTILINE | re.DOTALL
        )
        for struct, body in structs:
            public = body.partition("private:")[0]
            methods = re.findall(r"^  (?! )[^;={(]*?(\w+)\(", public, re.MULTILINE)
            names.update(f"{struct}.{method}" for method in methods if method not in (struct, "operator"))
    return names


def is_there(package, name):
    try:
        functools.reduce(getattr, name.split("."), package)
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("folder, least", [("information", 80), ("theory", 100)])
def test_what_the_headers_declare_is_in_python_or_listed(folder, least):
    declared, package = declared_in(folder), PACKAGES[folder]
    assert len(declared) > least
    absent = {name for name in declared if not is_there(package, name)}
    assert absent == RENAMED[folder].keys() | LEFT_OUT[folder].keys()
    assert not RENAMED[folder].keys() & LEFT_OUT[folder].keys()
    assert [name for name in RENAMED[folder].values() if not is_there(package, name)] == []
