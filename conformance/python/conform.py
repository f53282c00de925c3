"""What every case has: a world of its own, a model that says what the case wants, and a way to compare.

`drive.py` finds the cases and runs them. The replies are described in `xtask/src/conformance/stage.rs`.
"""

import asyncio
import json
import os
import tempfile
import urllib.request
from pathlib import Path

ZORI = os.environ["CONFORMANCE_ZORI"]
CASES = []


SHOWN = []


def shows(line):
    """Adds a line to what is printed under the case's verdict."""
    SHOWN.append(line)


def case(function):
    """Marks a function as a case; its name is the case's."""
    CASES.append(function)
    return function


class World:
    """A case's own folders, environment and model."""

    def __init__(self, name):
        self.url = f"{os.environ['CONFORMANCE_MODEL']}/case/{name}"
        top = Path(tempfile.mkdtemp(prefix="case-")).resolve()
        self.work, self.home, self.base = top / "work", top / "home", top / "base"
        for folder in (self.work, self.home):
            folder.mkdir()
        self.env = {
            "HOME": str(self.home),
            "ZORI_HOME": str(self.base),
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "test-key-0123456789",
        }

    def script(self, *replies):
        """Adds replies of the model."""
        self._call("script", replies)

    def open(self):
        """Lets a reply go on that holds."""
        self._call("open", None)

    def requests(self):
        """Returns what the model was asked so far."""
        return self._call("requests", None)

    async def asked(self, count):
        """Waits until the model was asked that many times."""
        await until(lambda: len(self.requests()) >= count)

    def _call(self, what, body):
        request = urllib.request.Request(f"{self.url}/{what}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


async def until(condition):
    """Waits for a condition; the case's own time limit is the bound."""
    while not condition():
        await asyncio.sleep(0.02)


class Alive:
    """A command that runs for a minute, and a pipe that tells whether any process of it is left."""

    def __init__(self, folder):
        os.mkfifo(folder / "alive")
        self.pipe = os.open(folder / "alive", os.O_RDONLY | os.O_NONBLOCK)
        self.command = "exec 3> alive; echo started >&3; sleep 60"

    def read(self):
        """Returns what was written, nothing when nobody is there to write, and None when somebody may."""
        try:
            return os.read(self.pipe, 100)
        except BlockingIOError:
            return None

    async def started(self):
        await until(lambda: self.read() == b"started\n")

    async def ended(self):
        await until(lambda: self.read() == b"")


def text(words, **more):
    """A reply that is a text."""
    return {"content": [{"type": "text", "text": words}], **more}


def call(id, name, input, **more):
    """A reply that calls a tool."""
    return {"content": [tool_use(id, name, input)], **more}


def tool_use(id, name, input):
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def failure(status, kind, message, **headers):
    """An HTTP error; `retry_after="0"` becomes a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "kind": kind, "message": message, "headers": named}


def equal(actual, wanted, what="value"):
    """Compares whole values."""
    if actual != wanted:
        raise AssertionError(f"{what}\n  is     {show(actual)}\n  wanted {show(wanted)}")


def holds(condition, what):
    """States that something is so; `what` says what should have been, and what was."""
    if not condition:
        raise AssertionError(what)


def show(value):
    if isinstance(value, list):
        return "[" + "".join(f"\n           {entry!r}" for entry in value) + "]"
    return repr(value)


def system_text(request):
    """The system prompt of a request, whichever way it was sent."""
    system = request.get("system") or ""
    return system if isinstance(system, str) else "\n".join(block["text"] for block in system)


def tool_results(request):
    """The tool results in the last message of a request: id, whether it failed, text."""
    found = []
    for block in request["messages"][-1]["content"]:
        if isinstance(block, dict) and block["type"] == "tool_result":
            content = block.get("content") or ""
            if isinstance(content, list):
                content = "".join(part.get("text", "") for part in content)
            found.append((block["tool_use_id"], bool(block.get("is_error")), content.strip()))
    return found


def body(request):
    """A request's conversation as one text, to look for words in it."""
    return json.dumps(request["messages"])
