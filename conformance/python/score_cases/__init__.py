"""The CLI Agent Spec's own score tables, run: a case for each mode that applies, which passes when the mode gives 3 of 3.

What a case runs is printed with how it ended, so that the score can be read off the output.
"""

import json
import os
import pty
import signal
import subprocess
import time

import conform
from conform import ZORI, holds

ENVELOPE = {"ok", "data", "error", "warnings", "meta"}
# No waiting between attempts: what is scored is how it ends.
ONCE = ["--retries", "0"]


class Ran:
    """How a run ended."""

    def __init__(self, args, code, out, err, seconds):
        self.args, self.code, self.out, self.err, self.seconds = args, code, out, err, seconds

    @property
    def answer(self):
        """The one envelope on standard output."""
        try:
            found = json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"{self}: no envelope: {error}: {self.out[:300]!r}") from None
        holds(set(found) == ENVELOPE, f"{self}: the keys are {sorted(found)}")
        return found

    @property
    def error(self):
        """The error of the envelope, which says how the run ended."""
        error = self.answer["error"]
        holds(error and error["exit_code"] == self.code, f"{self}: the error is {error}")
        return error

    def ends(self, code, within=None):
        """States how it ended, and in which time."""
        holds(self.code == code, f"{self} instead of {code}: {self.out[-600:]} {self.err[-600:]}")
        if within is not None:
            holds(self.seconds < within, f"{self} took {self.seconds:.1f} s")
        return self

    def __str__(self):
        return f"zori {' '.join(self.args)} -> {self.code}"


def zori(world, *args, env=None, stdin=None, limit=25, shown=None, send=None):
    """Runs zori as the tables do: a clean environment, standard input closed unless there is some."""
    variables = {"PATH": os.environ["PATH"], **world.env, **(env or {})}
    variables = {name: value for name, value in variables.items() if value is not None}
    began = time.monotonic()
    process = subprocess.Popen(
        [ZORI, *args],
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables,
        cwd=world.work,
    )
    if send is not None:
        after, number = send
        time.sleep(after)
        process.send_signal(number)
    try:
        out, err = process.communicate(None if stdin is None else stdin.encode(), timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"zori {' '.join(args)} did not end within {limit} s") from None
    seconds = time.monotonic() - began
    ran = Ran(args, process.returncode, out.decode(), err.decode(), seconds)
    words = " ".join(arg if len(arg) < 60 else arg[:57] + "..." for arg in args)
    told = shown(ran) if shown else brief(ran)
    conform.shows(f"$ zori {words}  # {ran.code}, {seconds:.1f} s{told}")
    return ran


def brief(ran):
    """The part of an answer that says most."""
    try:
        found = json.loads(ran.out)
    except ValueError:
        return ""
    error = found.get("error") if isinstance(found, dict) else None
    return f", {error['code']}" if error else ""


def at_terminal(world, *args, env=None):
    """Runs zori with its streams on a terminal, and returns what it printed there."""
    master, slave = pty.openpty()
    variables = {"PATH": os.environ["PATH"], "TERM": "xterm", **world.env, **(env or {})}
    process = subprocess.Popen(
        [ZORI, *args], stdin=slave, stdout=slave, stderr=slave, env=variables, cwd=world.work, start_new_session=True
    )
    os.close(slave)
    out = b""
    try:
        while piece := os.read(master, 65536):
            out += piece
    except OSError:
        pass
    os.close(master)
    code = process.wait(20)
    conform.shows(f"$ zori {' '.join(args)} (at a terminal)  # {code}")
    return Ran(args, code, out.decode().replace("\r\n", "\n"), "", 0)


def manifest(world):
    """The strict document about all commands."""
    return zori(world, "manifest").ends(0).answer["data"]["commands"]


def schema(world):
    """The extended form of the same."""
    return zori(world, "--schema").ends(0).answer["data"]["commands"]


def tree(folder):
    """All files below a folder with their content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def secret_free(ran, *secrets):
    """States that no stream holds a secret."""
    for secret in secrets:
        holds(secret not in ran.out and secret not in ran.err, f"{ran} shows {secret}")


TERM = signal.SIGTERM
