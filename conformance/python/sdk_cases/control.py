"""What a client does while a turn runs, and between turns: interrupting, asking, changing the model."""

import asyncio
import os
import signal

from claude_agent_sdk import AssistantMessage, ClaudeSDKClient, StreamEvent, ToolUseBlock

from conform import Alive, call, case, equal, holds, text

from . import init, options, result, told, turn


async def until_message(client, seen, wanted):
    """Reads messages until one is as wanted; `seen` gets them all."""
    async for message in client.receive_messages():
        seen.append(message)
        if wanted(message):
            return


async def rest(client, seen):
    async for message in client.receive_response():
        seen.append(message)


@case
async def interrupted_while_the_answer_comes(world):
    world.script(text("This is a long", hold=True), text("Fine."))
    chosen = options(world, include_partial_messages=True)
    async with ClaudeSDKClient(options=chosen) as client:
        seen = []
        await client.query("Count to a million")
        began = lambda m: isinstance(m, StreamEvent) and m.event.get("delta", {}).get("text") == "long"
        await until_message(client, seen, began)
        reading = asyncio.create_task(rest(client, seen))
        await client.interrupt()
        await reading
        lines = [line for line in told(seen) if not line.startswith(("event", "status"))]
        equal(lines[:3], ["init", "text This is a long", "user text [Request interrupted by user]"])
        end = result(seen)
        equal((end.subtype, end.is_error, end.terminal_reason), ("error_during_execution", True, "aborted_streaming"))
        second = [line for line in told(await turn(client, "And now?")) if not line.startswith(("event", "status"))]
        equal(second, ["init", "text Fine.", "end success: Fine."])
    holds("This is a long" in str(world.requests()[1]), "the next request does not know what was said")


@case
async def interrupted_while_a_command_runs(world):
    alive = Alive(world.work)
    world.script(call("t1", "Bash", {"command": alive.command}), text("Fine."))
    async with ClaudeSDKClient(options=options(world, allowed_tools=["Bash"])) as client:
        seen = []
        await client.query("Sleep")
        calls = lambda m: isinstance(m, AssistantMessage) and isinstance(m.content[0], ToolUseBlock)
        await until_message(client, seen, calls)
        await alive.started()
        reading = asyncio.create_task(rest(client, seen))
        await client.interrupt()
        await reading
        lines = told(seen)
        holds(lines[2].startswith("user failed t1:"), f"the result is {lines[2]!r}")
        equal(lines[3], "user text [Request interrupted by user for tool use]")
        end = result(seen)
        equal((end.subtype, end.is_error, end.terminal_reason), ("error_during_execution", True, "aborted_tools"))
        await alive.ended()
        equal(told(await turn(client, "And now?")), ["init", "text Fine.", "end success: Fine."])


@case
async def an_interrupt_with_nothing_to_stop(world):
    world.script(text("Hi."))
    async with ClaudeSDKClient(options=options(world)) as client:
        await client.interrupt()
        equal(told(await turn(client, "Hi")), ["init", "text Hi.", "end success: Hi."])


@case
async def an_interrupt_while_a_question_waits(world):
    asked, never = asyncio.Event(), asyncio.Event()

    async def decide(name, input, context):
        asked.set()
        await never.wait()

    world.script(call("t1", "Write", {"file_path": "x", "content": "x"}), text("Fine."))
    async with ClaudeSDKClient(options=options(world, can_use_tool=decide)) as client:
        seen = []
        await client.query("Write")
        reading = asyncio.create_task(rest(client, seen))
        await asked.wait()
        await client.interrupt()
        await reading
        holds(result(seen).is_error, f"the turn ended with {told(seen)[-1]}")
        holds(not (world.work / "x").exists(), "the file was written all the same")
        equal(told(await turn(client, "And now?"))[-1], "end success: Fine.")


@case
async def the_model_is_changed(world):
    world.script(text("One."), text("Two."))
    async with ClaudeSDKClient(options=options(world)) as client:
        await turn(client, "a")
        await client.set_model("claude-sonnet-4-5")
        second = await turn(client, "b")
    equal([request["model"] for request in world.requests()], ["claude-haiku-4-5", "claude-sonnet-4-5"])
    equal(init(second)["model"], "claude-sonnet-4-5")


@case
async def prompts_sent_while_a_turn_runs(world):
    world.script(text("One.", hold=True), text("Two."))
    async with ClaudeSDKClient(options=options(world)) as client:
        await client.query("a")
        await world.asked(1)
        await client.query("b")
        world.open()
        seen = []
        await rest(client, seen)
        await rest(client, seen)
    equal(told(seen), ["init", "text One.", "end success: One.", "init", "text Two.", "end success: Two."])


@case
async def what_the_server_can_do(world):
    async with ClaudeSDKClient(options=options(world)) as client:
        info = await client.get_server_info()
    holds(isinstance(info.get("commands"), list), f"the answer to initialize is {info}")
    names = {"output_style", "available_output_styles", "models", "agents", "account"}
    equal(names - set(info), set(), "fields that are missing")


@case
async def how_full_the_window_is(world):
    world.script(text("Hi."))
    async with ClaudeSDKClient(options=options(world)) as client:
        await turn(client, "Hi")
        usage = await client.get_context_usage()
    holds(0 < usage["totalTokens"] < usage["maxTokens"], f"{usage}")
    holds(isinstance(usage["categories"], list), f"{usage}")


@case
async def the_program_is_terminated_in_a_turn(world):
    alive = Alive(world.work)
    world.script(call("t1", "Bash", {"command": alive.command}))
    async with ClaudeSDKClient(options=options(world, allowed_tools=["Bash"])) as client:
        info = await client.get_server_info()
        await client.query("Sleep")
        await alive.started()
        os.kill(info["pid"], signal.SIGTERM)
        seen, failed = [], None
        try:
            async for message in client.receive_messages():
                seen.append(message)
        except Exception as error:
            failed = str(error)
        await alive.ended()
    end = result(seen)
    equal((end.subtype, end.is_error, end.terminal_reason), ("error_during_execution", True, "aborted_tools"))
    holds(failed is not None, "the caller is not told that the program has gone")
