"""The Claude Agent SDK for Python, used as its README and its examples use it."""

import json

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    query,
)

from conform import ZORI

MODEL = "claude-haiku-4-5"
# Tools whose result is the same whoever runs them; the others say it in words of their own.
PLAIN = ("Bash", "mcp__")


def options(world, **more):
    """The options of a case, with zori in the place of the other executable."""
    env = {**world.env, **more.pop("env", {})}
    more.setdefault("model", MODEL)
    return ClaudeAgentOptions(cli_path=ZORI, cwd=world.work, env=env, **more)


async def ask(prompt, options):
    """Returns all messages of a query."""
    return [message async for message in query(prompt=prompt, options=options)]


async def ask_in_vain(prompt, options):
    """Returns the messages of a query that fails, and the error."""
    messages = []
    try:
        async for message in query(prompt=prompt, options=options):
            messages.append(message)
    except Exception as error:
        return messages, error
    raise AssertionError(f"no error was raised; the messages were {told(messages)}")


async def prompts(*texts):
    """A stream of prompts."""
    for words in texts:
        yield {"type": "user", "message": {"role": "user", "content": words}, "parent_tool_use_id": None}


async def turn(client, words):
    """Returns the messages of one turn of a client."""
    await client.query(words)
    return [message async for message in client.receive_response()]


def result(messages):
    """The last message, which is the result."""
    last = messages[-1]
    assert isinstance(last, ResultMessage), f"the last message is {last!r}"
    return last


def init(messages):
    """The data of the first `init`."""
    return next(m.data for m in messages if isinstance(m, SystemMessage) and m.subtype == "init")


def told(messages):
    """A run as one line per happening."""
    names = {}
    return [line for message in messages for line in _lines(message, names)]


def _lines(message, names):
    if isinstance(message, SystemMessage):
        return [message.subtype]
    if isinstance(message, StreamEvent):
        event = message.event
        return [f"event {event['type']} {event.get('delta', {}).get('type', '')}".strip()]
    if isinstance(message, ResultMessage):
        mark = " (error)" if message.is_error else ""
        return [f"end {message.subtype}{mark}: {message.result if message.result is not None else message.errors}"]
    inside = "" if message.parent_tool_use_id is None else f"[{message.parent_tool_use_id}] "
    content = message.content
    if isinstance(content, str):
        content = [TextBlock(text=content)]
    if isinstance(message, (AssistantMessage, UserMessage)):
        who = "" if isinstance(message, AssistantMessage) else "user "
        return [inside + who + _block(block, names) for block in content]
    return [type(message).__name__]


def _block(block, names):
    if isinstance(block, TextBlock):
        return f"text {block.text}"
    if isinstance(block, ThinkingBlock):
        return f"thinking {block.thinking}"
    if isinstance(block, ToolUseBlock):
        names[block.id] = block.name
        return f"call {block.id} {block.name} {json.dumps(block.input, sort_keys=True)}"
    if isinstance(block, ToolResultBlock):
        content = block.content or ""
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content)
        if block.is_error:
            return f"failed {block.tool_use_id}: {content.strip()}"
        words = f": {content.strip()}" if names.get(block.tool_use_id, "").startswith(PLAIN) else ""
        return f"done {block.tool_use_id}{words}"
    return type(block).__name__
