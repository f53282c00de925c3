"""The Python library of the Agent Client Protocol, playing an editor."""

from contextlib import asynccontextmanager

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    Implementation,
    RequestPermissionResponse,
)

from conform import ZORI

MODEL = "claude-haiku-4-5"
# Told by the way, at times of zori's choosing.
BY_THE_WAY = (
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
)


class Editor:
    """A client that notes everything and answers questions about calls with one kind of answer."""

    def __init__(self, answer="reject_once"):
        self.answer = answer
        self.updates = []
        self.asked = []

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append((session_id, update.model_dump(by_alias=True, exclude_none=True)))

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.asked.append((tool_call.model_dump(by_alias=True, exclude_none=True), options))
        answer = await self.answer() if callable(self.answer) else self.answer
        if answer == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = next(option for option in options if option.kind == answer)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    def told(self, session=None):
        """The updates as one line per happening; pieces of text joined, calls numbered as they come."""
        updates = [update for of, update in self.updates if session in (None, of)]
        return outline(updates)


def outline(updates):
    lines, numbers = [], {}
    for update in updates:
        kind = update["sessionUpdate"]
        if kind in BY_THE_WAY:
            continue
        if kind.endswith("_chunk"):
            who = {"agent_message_chunk": "text", "agent_thought_chunk": "thought", "user_message_chunk": "user"}[kind]
            words = update["content"].get("text", f"<{update['content']['type']}>")
            if lines and lines[-1][0] == who:
                lines[-1] = (who, lines[-1][1] + words)
            else:
                lines.append((who, words))
        elif kind in ("tool_call", "tool_call_update"):
            id = update["toolCallId"]
            number = numbers.setdefault(id, len(numbers) + 1)
            line = ("call", f"#{number} {update['kind']}") if kind == "tool_call" else (f"#{number}", update.get("status"))
            # A call may tell more of itself while its state stays the same.
            if kind == "tool_call" or (line[1] and line != next((l for l in reversed(lines) if l[0] == line[0]), None)):
                lines.append(line)
        elif kind == "plan":
            lines.append(("plan", ", ".join(f"{entry['content']} ({entry['status']})" for entry in update["entries"])))
        else:
            lines.append((kind, ""))
    return [f"{who} {words}".strip() for who, words in lines]


@asynccontextmanager
async def agent(world, editor, args=(), env=None):
    """zori as the editor's agent; nothing is said yet."""
    environment = {**world.env, **(env or {})}
    words = ("acp", "--model", MODEL, *args)
    async with spawn_agent_process(editor, ZORI, *words, env=environment, cwd=world.work) as (connection, process):
        yield connection, process


@asynccontextmanager
async def connected(world, editor, fs=False, terminal=False, **more):
    """zori after `initialize`, and its answer."""
    async with agent(world, editor, **more) as (connection, _):
        capabilities = ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=fs, write_text_file=fs), terminal=terminal
        )
        info = Implementation(name="conformance", version="1.0.0")
        answer = await connection.initialize(PROTOCOL_VERSION, client_capabilities=capabilities, client_info=info)
        yield connection, answer


@asynccontextmanager
async def session(world, editor, **more):
    """zori with one session."""
    async with connected(world, editor, **more) as (connection, _):
        yield connection, await connection.new_session(cwd=str(world.work), mcp_servers=[])


async def ask(connection, id, words):
    """Prompts, and returns why the turn ended."""
    blocks = [text_block(words)] if isinstance(words, str) else words
    return (await connection.prompt(session_id=id, prompt=blocks)).stop_reason


async def refused(awaitable):
    """Returns the error of a request that must fail."""
    try:
        answer = await awaitable
    except RequestError as error:
        return error
    raise AssertionError(f"no error; the answer was {answer!r}")
