"""What check_layers.py finds in small broken projects, one mistake each."""

import pathlib
import tempfile
import unittest

import check_layers

TABLE = """
layer(low LIBRARY x HEADERS low)
layer(high LIBRARY x USES low PACKAGES fmt)
"""
FILES = {
    "src/layers.cmake": TABLE,
    "include/isentropic/low.hpp": "",
    "src/low/part.hpp": '#include "isentropic/low.hpp"\n',
    "src/high/top.cpp": '#include <fmt/format.h>\n#include <vector>\n#include "low/part.hpp"\n',
}


def problems_of(**changed):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (
            FILES | {key.replace("__", "/").replace("_dot_", "."): x for key, x in changed.items()}
        ).items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_layers.check(pathlib.Path(folder))


class CheckLayers(unittest.TestCase):
    def one_problem(self, text, **changed):
        problems = problems_of(**changed)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(text, problems[0])

    def test_right_project(self):
        self.assertEqual(problems_of(), [])

    def test_include_upwards(self):
        self.one_problem("low may not use high", **{"src__low__more_dot_cpp": '#include "high/top.cpp"\n'})

    def test_package_not_listed(self):
        self.one_problem("low may not use json", **{"src__low__more_dot_cpp": "#include <nlohmann/json.hpp>\n"})

    def test_listed_in_vain(self):
        self.one_problem("high lists low", **{"src__high__top_dot_cpp": "#include <fmt/format.h>\n"})

    def test_package_listed_in_vain(self):
        self.one_problem("package fmt", **{"src__high__top_dot_cpp": '#include "low/part.hpp"\n'})

    def test_folder_without_layer(self):
        self.one_problem("src/new/file.cpp belongs to no layer", **{"src__new__file_dot_cpp": ""})

    def test_public_header_without_layer(self):
        self.one_problem("extra.hpp belongs to no layer", **{"include__isentropic__extra_dot_hpp": ""})

    def test_unknown_include(self):
        self.one_problem('includes "nowhere.hpp"', **{"src__low__more_dot_cpp": '#include "nowhere.hpp"\n'})

    def test_order_of_table(self):
        lines = TABLE.strip().splitlines()
        self.one_problem("not above it", **{"src__layers_dot_cmake": "\n".join(reversed(lines))})


if __name__ == "__main__":
    unittest.main()
