"""The vendors' own Python libraries, for the types they declare: what zori sends is held against the parameter types, and every
event, item and reason to stop that they list is played to it."""

import json
import os
import subprocess
import threading
import types
import typing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import typing_extensions

from conform import ZORI

NOTHING_RAN = "nothing-ran"


class Vendor:
    """A server that plays replies, and zori in front of it."""

    def __init__(self, world, provider):
        self.world, self.provider, self.replies, self.asked = world, provider, [], []
        vendor = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                vendor.asked.append(json.loads(body))
                status, kind, answer = vendor.replies.pop(0) if vendor.replies else (404, "application/json", b"{}")
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def streams(self, *events):
        """Adds a reply: server-sent events, each a JSON value or a word."""
        frames = []
        for event in events:
            name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
            frames.append(f"{name}data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
        self.replies.append((200, "text/event-stream", "".join(frames).encode()))

    def run(self, *flags, prompt="go"):
        """Runs one prompt and returns exit code, standard output and standard error."""
        address = f"http://127.0.0.1:{self.server.server_address[1]}"
        env = {"PATH": os.environ["PATH"], "HOME": str(self.world.home), "ZORI_HOME": str(self.world.base), "CI": "1"}
        for name in ("ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER"):
            version = "" if name == "ANTHROPIC" else "/v1"
            env |= {f"{name}_BASE_URL": address + version, f"{name}_API_KEY": "test-key-0123456789"}
        argv = [ZORI, "exec", "--no-save", "--provider", self.provider, "--retry-delay", "0", *flags, "-p", prompt]
        done = subprocess.run(argv, env=env, cwd=self.world.work, capture_output=True, text=True, timeout=25)
        return done.returncode, done.stdout, done.stderr

    def ran(self):
        """Returns whether the call that replies make was run."""
        return (self.world.work / NOTHING_RAN).exists()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


COMMAND = {"command": f"touch {NOTHING_RAN}"}


def members(union):
    """Returns the types of a union, however it is wrapped."""
    origin = typing.get_origin(union)
    if origin is typing.Annotated:
        return members(typing.get_args(union)[0])
    if origin in (typing.Union, types.UnionType):
        return [member for part in typing.get_args(union) for member in members(part)]
    return [union]


def example(hint):
    """Makes up the least that a response type takes, as JSON."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return example(args[0])
    if origin is typing.Literal:
        return args[0]
    if origin in (typing.Union, types.UnionType):
        return None if type(None) in args else example(args[0])
    if origin in (list, typing.Iterable) or hint is list:
        return []
    if origin is dict or hint in (dict, object, typing.Any):
        return {}
    fields = getattr(hint, "model_fields", None)
    if fields is not None:
        return {f.alias or name: example(f.annotation) for name, f in fields.items() if f.is_required()}
    return {str: "x", int: 0, float: 0.0, bool: False}.get(hint)


def mistakes(value, hint, place="request"):
    """Returns what of a JSON value a parameter type does not take: wrong types, missing fields, fields it does not know."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired, typing_extensions.Required, typing_extensions.NotRequired):
        return mistakes(value, args[0], place)
    if hint in (typing.Any, object):
        return []
    if origin is typing.Literal:
        return [] if value in args else [f"{place}: {value!r} is none of {args}"]
    if origin in (typing.Union, types.UnionType):
        return least([mistakes(value, arg, place) for arg in args])
    if hint is type(None):
        return [] if value is None else [f"{place}: {value!r} is not null"]
    if typing_extensions.is_typeddict(hint):
        return in_dict(value, hint, place)
    if origin is dict or (isinstance(origin, type) and issubclass(origin, typing.Mapping)):
        if not isinstance(value, dict):
            return [f"{place}: {value!r} is no object"]
        return [m for key, entry in value.items() for m in mistakes(entry, args[1], f"{place}.{key}")]
    if isinstance(origin, type) and issubclass(origin, typing.Iterable):
        if not isinstance(value, list):
            return [f"{place}: {value!r} is no list"]
        return [m for n, entry in enumerate(value) for m in mistakes(entry, args[0], f"{place}[{n}]")]
    if hint is dict or isinstance(hint, typing.ForwardRef):
        return []
    wanted = {float: (int, float), int: (int,), str: (str,), bool: (bool,)}.get(hint, (object,))
    good = isinstance(value, wanted) and (hint is bool or hint is object or not isinstance(value, bool))
    return [] if good else [f"{place}: {value!r} is no {getattr(hint, '__name__', hint)}"]


def in_dict(value, hint, place):
    if not isinstance(value, dict):
        return [f"{place}: {value!r} is no {hint.__name__}"]
    hints = typing_extensions.get_type_hints(hint, include_extras=True)
    needed = required(hint, hints)
    found = [f"{place}: `{key}` is missing of {hint.__name__}" for key in needed if key not in value]
    for key, entry in value.items():
        if key not in hints:
            found.append(f"{place}: {hint.__name__} knows no `{key}`")
        else:
            found.extend(mistakes(entry, hints[key], f"{place}.{key}"))
    return found


def required(hint, hints):
    """Returns the fields that must be there. The types postpone their annotations, so that `__required_keys__` does not know."""
    named = (typing_extensions.Required, typing.Required)
    bases = [base for base in getattr(hint, "__orig_bases__", ()) if typing_extensions.is_typeddict(base)]
    inherited = {key for base in bases for key in typing_extensions.get_type_hints(base)}
    own = [key for key in hints if key not in inherited]
    found = [key for key in own if hint.__total__ or typing.get_origin(hints[key]) in named]
    return found + [key for base in bases for key in required(base, typing_extensions.get_type_hints(base, include_extras=True))]


def least(results):
    """Of the members of a union the one that fits best says what is wrong."""
    return min(results, key=len) if results else []
