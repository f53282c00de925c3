"""The SDK's earlier life as `claude-code-sdk`: the same protocol, older types. It finds the program by its name in `PATH`."""

from claude_code_sdk import AssistantMessage, ClaudeCodeOptions, ResultMessage, TextBlock, ToolResultBlock, ToolUseBlock
from claude_code_sdk import ClaudeSDKClient, query
from claude_code_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

from conform import ZORI

MODEL = "claude-haiku-4-5"
# It has no option for the program's place, and looks for one called `claude`.
SubprocessCLITransport._find_cli = lambda self: ZORI


def options(world, **more):
    """The options of a case, with zori in the place of the other executable."""
    return ClaudeCodeOptions(cwd=world.work, env=world.env, model=MODEL, **more)


async def ask(prompt, options):
    """Returns all messages of a query."""
    return [message async for message in query(prompt=prompt, options=options)]


async def turn(client, words):
    """Returns the messages of one turn of a client."""
    await client.query(words)
    return [message async for message in client.receive_response()]


def result(messages):
    """The last message, which is the result."""
    assert isinstance(messages[-1], ResultMessage), messages[-1]
    return messages[-1]


def told(messages):
    """A run as one line per happening."""
    return [line for message in messages for line in lines(message)]


def lines(message):
    if isinstance(message, ResultMessage):
        mark = " (error)" if message.is_error else ""
        return [f"end {message.subtype}{mark}: {message.result}"]
    if isinstance(message, AssistantMessage):
        return [block(part) for part in message.content]
    content = getattr(message, "content", None)
    if isinstance(content, list):
        return [f"user {block(part)}" for part in content]
    return [getattr(message, "subtype", type(message).__name__)]


def block(part):
    if isinstance(part, TextBlock):
        return f"text {part.text}"
    if isinstance(part, ToolUseBlock):
        return f"call {part.id} {part.name}"
    if isinstance(part, ToolResultBlock):
        return f"{'failed' if part.is_error else 'done'} {part.tool_use_id}"
    return type(part).__name__


__all__ = ["ClaudeSDKClient", "ask", "options", "result", "told", "turn"]
