"""Commands of the program, run as from a shell."""

import os
import signal
import subprocess
import time


class Command:
    """A command of the program: ``Command("train", "seq2seq")("-o", folder)`` runs it."""

    def __init__(self, *words, **environment):
        self._words = [os.environ.get("ISENTROPIC_PROGRAM", ""), *words]
        self._environment = {**os.environ, **environment}

    def __call__(self, *arguments, status=0):
        result = subprocess.run(self._line(arguments), capture_output=True, text=True, env=self._environment)
        assert result.returncode == status, result.stderr
        return result

    def start(self, *arguments, **options):
        """A process in the background; its stderr must be read."""
        return subprocess.Popen(
            self._line(arguments), stderr=subprocess.PIPE, text=True, env=self._environment, **options
        )

    def interrupt(self, *arguments, when):
        """Interrupts the command with Ctrl-C as soon as ``when()`` is true, and returns what it wrote to stderr."""
        with self.start(*arguments) as process:
            while not when():
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            message = process.stderr.read()
        assert process.returncode == 1 and "interrupted" in message and "--resume" in message
        return message

    def _line(self, arguments):
        return [*self._words, *map(str, arguments)]


def check_resumes(run, folder, options):
    """Checks that a study interrupted after its first save and then resumed writes the files of an uninterrupted one."""
    whole, parts = folder / "whole", folder / "parts"
    run("-o", whole, *options)
    run.interrupt("-o", parts, *options, when=(parts / "state.safetensors").exists)
    assert not (parts / "results.json").exists()
    run("-o", parts, "--resume")
    assert contents(parts) == contents(whole)


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
