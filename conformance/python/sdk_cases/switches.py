"""What callers may ask for beside prompts: another model, settings, hook events, a tool that is asked."""

import json

from claude_agent_sdk import AssistantMessage, HookEventMessage, HookMatcher, create_sdk_mcp_server, tool

from conform import body, call, case, equal, failure, holds, text

from . import ask, ask_in_vain, options, prompts, result, told

ONCE = {"CLAUDE_CODE_MAX_RETRIES": "0"}
ECHO = {"command": "echo hi"}


@case
async def a_fallback_model(world):
    world.script(failure(529, "overloaded_error", "Overloaded"), text("Hello."))
    messages = await ask("Hi", options(world, fallback_model="claude-sonnet-4-5", env=ONCE))
    equal(told(messages), ["init", "informational", "text Hello.", "end success: Hello."])
    equal([request["model"] for request in world.requests()], ["claude-haiku-4-5", "claude-sonnet-4-5"])


@case
async def settings_as_json(world):
    said = []
    world.script(call("t1", "Bash", {"command": "touch made"}), call("t2", "Bash", ECHO), text("Done."))
    settings = {"permissions": {"allow": ["Bash(echo:*)"], "deny": ["Bash(touch:*)"]}, "theme": "dark"}
    messages = await ask("go", options(world, settings=json.dumps(settings), stderr=said.append))
    lines = told(messages)
    holds(any(line.startswith("user failed t1") for line in lines), f"{lines}")
    holds("user done t2: hi" in lines, f"{lines}")
    holds(any("theme" in line for line in said), f"stderr says {said}")


@case
async def hooks_are_told(world):
    async def before(input, tool_use_id, context):
        return {}

    world.script(call("t1", "Bash", ECHO), text("Done."))
    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[before])]}
    chosen = options(world, hooks=hooks, include_hook_events=True, allowed_tools=["Bash"])
    messages = await ask(prompts("go"), chosen)
    seen = [(m.subtype, m.hook_event_name) for m in messages if isinstance(m, HookEventMessage)]
    equal(seen, [("hook_started", "PreToolUse"), ("hook_response", "PreToolUse")])


def gate(answer):
    """A server whose one tool is asked about calls, and what it was asked."""
    seen = []

    @tool("permit", "Says whether a call may run", {"tool_name": str, "input": dict, "tool_use_id": str})
    async def permit(args):
        seen.append(args)
        return {"content": [{"type": "text", "text": json.dumps(answer)}]}

    return {"gate": create_sdk_mcp_server(name="gate", version="1.0.0", tools=[permit])}, seen


@case
async def a_tool_that_is_asked(world):
    servers, seen = gate({"behavior": "deny", "message": "the gate is shut"})
    world.script(call("t1", "Write", {"file_path": "a.txt", "content": "x"}), text("Pity."))
    chosen = options(world, mcp_servers=servers, permission_prompt_tool_name="mcp__gate__permit")
    messages = await ask(prompts("go"), chosen)
    equal([(args["tool_name"], args["tool_use_id"]) for args in seen], [("Write", "t1")])
    holds("user failed t1: the gate is shut" in told(messages), f"{told(messages)}")
    equal((result(messages).is_error, (world.work / "a.txt").exists()), (False, False))


@case
async def a_tool_that_is_asked_and_not_there(world):
    said = []
    servers, _ = gate({})
    chosen = options(world, mcp_servers=servers, permission_prompt_tool_name="mcp__gate__missing", stderr=said.append)
    await ask_in_vain(prompts("go"), chosen)
    holds(any("mcp__gate__missing" in line and "mcp__gate__permit" in line for line in said), f"stderr says {said}")


@case
async def resumed_at_a_message(world):
    world.script(text("One."), text("Two."), text("Three."))
    first = await ask("a", options(world))
    at = next(m.uuid for m in first if isinstance(m, AssistantMessage))
    session = result(first).session_id
    await ask("b", options(world, resume=session))
    await ask("c", options(world, resume=session, extra_args={"resume-session-at": at}))
    sent = body(world.requests()[2])
    holds("One." in sent and "Two." not in sent and '"b"' not in sent, f"the model was sent {sent}")
