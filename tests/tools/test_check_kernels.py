"""The kernel checker against correct and incorrect ptxas reports."""

import contextlib
import importlib.util
import io
import pathlib
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

CHECKER = pathlib.Path(__file__).parents[2] / "tools" / "check-kernels"
loader = SourceFileLoader("check_kernels", str(CHECKER))
check_kernels = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_kernels", loader))
loader.exec_module(check_kernels)

KERNEL = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '{name}' for '{architecture}'
ptxas info    : Function properties for {name}
    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, {shared} bytes smem, 16 bytes cmem[2]
ptxas info    : Compile time = 5.746 ms
"""


def report(name="_Z1fPf", architecture="sm_90", stack=None, stores=0, loads=0, shared=0):
    stack = stores if stack is None else stack
    return KERNEL.format(name=name, architecture=architecture, stack=stack, stores=stores, loads=loads, shared=shared)


class Kernels(unittest.TestCase):
    def trouble(self, text, known=()):
        return list(check_kernels.trouble_with(check_kernels.kernels_in(text), known))

    def test_numbers_are_read(self):
        first, second = check_kernels.kernels_in(report(stores=4, loads=8, shared=1024) + report("_Z1gPf", "sm_80"))
        self.assertEqual((first.registers, first.stores, first.loads, first.shared), (128, 4, 8, 1024))
        self.assertEqual((second.name, second.architecture, second.stores), ("_Z1gPf", "sm_80", 0))

    def test_a_kernel_without_shared_memory_is_read(self):
        text = report().replace(", used 1 barriers, 0 bytes smem, 16 bytes cmem[2]", ", used 0 barriers")
        self.assertEqual(check_kernels.kernels_in(text)[0].shared, 0)
        self.assertEqual(self.trouble(text), [])

    def test_spills_are_found(self):
        self.assertEqual(self.trouble(report()), [])
        self.assertEqual(len(self.trouble(report(stores=4))), 1)
        self.assertEqual(len(self.trouble(report(loads=4))), 1)
        self.assertIn("_Z1fPf for sm_80", self.trouble(report() + report(architecture="sm_80", loads=4))[0])

    def test_arrays_in_local_memory_are_found(self):
        self.assertEqual(self.trouble(report(stack=48)), [])
        self.assertIn("456 bytes of local memory", self.trouble(report(stack=456))[0])

    def test_known_spills_have_a_limit_and_must_be_needed(self):
        known = (("_Z1fPf for sm_90", 100, 100, "faster so"),)
        self.assertEqual(self.trouble(report(stores=100, loads=100), known), [])
        self.assertEqual(len(self.trouble(report(stores=100, loads=101), known)), 1)
        self.assertEqual(len(self.trouble(report(stores=101, loads=100), known)), 1)
        self.assertIn("KNOWN_SPILLS", self.trouble(report(), known)[0])

    def test_known_spills_are_those_of_one_architecture(self):
        known = (("_Z1fPf for sm_90", 100, 100, "faster so"),)
        self.assertEqual(self.trouble(report(architecture="sm_80"), known), [])
        self.assertIn("for sm_80", self.trouble(report(stores=4) + report(architecture="sm_80", stores=4), known)[0])

    def test_static_shared_memory_has_a_limit(self):
        self.assertEqual(self.trouble(report(shared=49152)), [])
        self.assertEqual(len(self.trouble(report(shared=49153))), 1)

    def test_half_a_report_is_trouble(self):
        text = "".join(line for line in report().splitlines(keepends=True) if "Used" not in line)
        self.assertEqual(len(self.trouble(text)), 1)


class Objects(unittest.TestCase):
    def run_checker(self, size, text):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            path = pathlib.Path(folder) / "a.o"
            with path.open("wb") as file:
                file.truncate(size)
            clean = path.with_name("clean.o")
            clean.touch()
            clean.with_name("clean.o.ptxas").write_text(report())
            if text:
                path.with_name("a.o.ptxas").write_text(text)
            return check_kernels.main([str(path), str(clean)]), said.getvalue()

    def setUp(self):
        self.known, check_kernels.KNOWN_SPILLS = check_kernels.KNOWN_SPILLS, ()

    def tearDown(self):
        check_kernels.KNOWN_SPILLS = self.known

    def test_a_clean_build_passes(self):
        self.assertEqual(self.run_checker(1000, report())[0], 0)

    def test_an_object_without_a_report_fails(self):
        status, said = self.run_checker(1000, None)
        self.assertEqual(status, 1)
        self.assertIn("a.o has no report", said)

    def test_large_objects_fail_for_one_architecture_and_pass_for_two(self):
        self.assertEqual(self.run_checker(31_000_000, report())[0], 1)
        self.assertEqual(self.run_checker(31_000_000, report() + report(architecture="sm_80"))[0], 0)

    def test_spills_fail(self):
        self.assertEqual(self.run_checker(1000, report(stores=4))[0], 1)
