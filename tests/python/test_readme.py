"""The Python of the README that stands by itself runs as printed."""

import pathlib
import re

README = pathlib.Path(__file__).parents[2] / "README.md"


def test_the_first_sample_runs():
    samples = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    names: dict = {}
    exec(samples[0], names)
    assert names["aux"].entropy.shape == (1, 8, 1024) and names["q"].grad.abs().sum() > 0
    assert "isentropic.hf.register()" in samples[1]
