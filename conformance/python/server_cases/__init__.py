"""MCP servers that others wrote, and zori as their client: how each is started, and what is asked of it."""

import asyncio
import http.server
import json
import os
import shutil
import threading
from pathlib import Path

from conform import ZORI

SERVERS = Path(os.environ["CONFORMANCE_SERVERS"])
NODE = shutil.which("node") or "node"

# A server on an SDK of March 2025, which dies of what it does not know.
OLD = """
from mcp.server.fastmcp import FastMCP

server = FastMCP("old")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


server.run()
"""


def node(package, *args):
    return [NODE, str(SERVERS / "node_modules/@modelcontextprotocol" / package / "dist/index.js"), *args]


def python(program, *args):
    return [str(SERVERS / "venv/bin" / program), *args]


def old(world):
    script = world.work / "old_server.py"
    script.write_text(OLD)
    return [str(SERVERS / "old/bin/python"), str(script)]


def configure(world, servers, more=""):
    """Writes the servers into the user's config, each by its command or its address."""
    world.base.mkdir(exist_ok=True)
    text = more
    for name, how in servers.items():
        text += f"[mcp.servers.{name}]\n"
        if isinstance(how, list):
            text += f"command = {json.dumps(how[0])}\nargs = {json.dumps(how[1:])}\n"
        else:
            text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in how.items())
    (world.base / "config.toml").write_text(text)


async def zori(world, *args):
    """Runs zori to its end; returns its code, standard output and standard error."""
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **world.env}
    run = await asyncio.create_subprocess_exec(
        ZORI, *args, cwd=world.work, env=env, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )
    out, err = await run.communicate()
    return run.returncode, out.decode(), err.decode()


async def called(world, server, tool, arguments):
    """Calls a tool; returns what it gave."""
    code, out, err = await zori(world, "mcp", "call", server, tool, "--input", json.dumps(arguments), "--output", "json")
    if code != 0:
        raise AssertionError(f"exit {code}: {out} {err}")
    return json.loads(out)["data"]["result"]


async def counts(world):
    """Connects to every server; returns how many tools each has, or why it has none."""
    _, out, _ = await zori(world, "mcp", "list", "--check", "--output", "json")
    return {row["name"]: row["tools"] if row["status"] == "connected" else row["reason"] for row in json.loads(out)["data"]}


class Page:
    """A page on this machine, to be fetched."""

    def __enter__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = b"<html><body><h1>Hello</h1><p>A page of this machine.</p></body></html>"
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/"

    def __exit__(self, *_):
        self.server.shutdown()


class Listening:
    """The `everything` server over HTTP, one way or the other."""

    def __init__(self, way):
        self.way = way

    async def __aenter__(self):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), None) as taken:
            port = taken.server_port
        env = {"PATH": os.environ["PATH"], "PORT": str(port)}
        self.run = await asyncio.create_subprocess_exec(
            *node("server-everything", self.way), env=env, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return f"http://127.0.0.1:{port}"
            except OSError:
                await asyncio.sleep(0.05)

    async def __aexit__(self, *_):
        self.run.terminate()
        await self.run.wait()
