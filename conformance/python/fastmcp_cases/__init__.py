"""`fastmcp` as a client of `zori mcp serve`, on lines and over HTTP."""

import asyncio
import os
import re
import secrets

from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from conform import ZORI


def on_lines(world, *args, **more):
    """A client that starts the server."""
    env = {"PATH": os.environ["PATH"], **world.env}
    command = ["mcp", "serve", "--provider", "anthropic", *args]
    return Client(StdioTransport(ZORI, command, env=env, cwd=str(world.work), keep_alive=False), **more)


class HttpServer:
    """`zori mcp serve --http` on a free port."""

    def __init__(self, world, *args):
        self.world, self.args, self.token = world, args, secrets.token_hex(16)

    async def __aenter__(self):
        env = {"PATH": os.environ["PATH"], **self.world.env, "ZORI_MCP_TOKEN": self.token}
        self.process = await asyncio.create_subprocess_exec(
            ZORI, "mcp", "serve", "--http", "127.0.0.1:0", "--provider", "anthropic", *self.args,
            cwd=self.world.work, env=env, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )
        line = (await self.process.stderr.readline()).decode()
        self.url = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+/mcp)\n", line)[1]
        return self

    async def __aexit__(self, *error):
        self.process.terminate()
        self.code = await self.process.wait()

    def client(self, token=None, **more):
        return Client(StreamableHttpTransport(self.url, auth=BearerAuth(token or self.token)), **more)
