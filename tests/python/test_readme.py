"""The README's self-contained Python code runs as printed."""

import pathlib
import re

README = pathlib.Path(__file__).parents[2] / "README.md"


def samples():
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)


def test_the_scan_runs(tmp_path, monkeypatch):
    (tmp_path / "models").symlink_to(README.parent / "models")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(samples()[0], names)
    assert len(names["scan"].columns["entropy"]) == 48 and (tmp_path / "report.html").exists()


def test_the_attention_call_runs():
    names: dict = {}
    exec(samples()[1], names)
    assert names["aux"].entropy.shape == (1, 8, 1024) and names["q"].grad.abs().sum() > 0
    assert "isentropic.hf.register()" in samples()[2]
