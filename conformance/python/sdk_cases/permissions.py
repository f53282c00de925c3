"""Who decides on a call: the callback, lists of tools, modes, and nobody."""

from claude_agent_sdk import (
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
)
from claude_agent_sdk.types import PermissionRuleValue

from conform import call, case, equal, holds, text, tool_results, tool_use

from . import ask, ask_in_vain, init, options, prompts, result, told, turn


def deciding(answer):
    """A callback that gives one answer (or raises it) and notes what it was asked."""
    asked = []

    async def decide(name, input, context):
        asked.append((name, input, context))
        if isinstance(answer, Exception):
            raise answer
        return answer

    return decide, asked


WRITE = {"file_path": "new.txt", "content": "hello\n"}


@case
async def a_call_that_is_allowed(world):
    decide, asked = deciding(PermissionResultAllow())
    world.script(call("t1", "Bash", {"command": "echo ran > ran.txt; echo hi"}), text("Done."))
    messages = await ask(prompts("go"), options(world, can_use_tool=decide))
    equal(
        told(messages),
        [
            "init",
            'call t1 Bash {"command": "echo ran > ran.txt; echo hi"}',
            "user done t1: hi",
            "text Done.",
            "end success: Done.",
        ],
    )
    equal([(name, input) for name, input, _ in asked], [("Bash", {"command": "echo ran > ran.txt; echo hi"})])
    equal(asked[0][2].tool_use_id, "t1")
    equal((world.work / "ran.txt").read_text(), "ran\n")
    equal((result(messages).num_turns, result(messages).permission_denials), (2, []))


@case
async def a_call_that_is_denied(world):
    decide, _ = deciding(PermissionResultDeny(message="not on my machine"))
    world.script(call("t1", "Write", WRITE), text("Too bad."))
    messages = await ask(prompts("go"), options(world, can_use_tool=decide))
    equal(told(messages)[2:], ["user failed t1: not on my machine", "text Too bad.", "end success: Too bad."])
    holds(not (world.work / "new.txt").exists(), "the file was written all the same")
    equal(tool_results(world.requests()[1]), [("t1", True, "not on my machine")])
    equal(result(messages).permission_denials, [{"tool_name": "Write", "tool_use_id": "t1", "tool_input": WRITE}])


@case
async def a_call_with_changed_input(world):
    changed = {"file_path": "safe.txt", "content": "changed\n"}
    decide, _ = deciding(PermissionResultAllow(updated_input=changed))
    world.script(call("t1", "Write", WRITE), text("Done."))
    messages = await ask(prompts("go"), options(world, can_use_tool=decide))
    equal(told(messages)[2:], ["user done t1", "text Done.", "end success: Done."])
    equal(sorted(path.name for path in world.work.iterdir()), ["safe.txt"])
    equal((world.work / "safe.txt").read_text(), "changed\n")


@case
async def a_callback_that_fails(world):
    decide, _ = deciding(RuntimeError("the callback blew up"))
    world.script(call("t1", "Write", WRITE), text("Hm."))
    messages = await ask(prompts("go"), options(world, can_use_tool=decide))
    failed = told(messages)[2]
    holds(failed.startswith("user failed t1:") and "the callback blew up" in failed, f"the result is {failed!r}")
    holds(not (world.work / "new.txt").exists(), "the file was written all the same")


@case
async def denied_and_interrupted(world):
    decide, _ = deciding(PermissionResultDeny(message="stop", interrupt=True))
    world.script(call("t1", "Write", WRITE), text("Fine."))
    async with ClaudeSDKClient(options=options(world, can_use_tool=decide)) as client:
        messages = await turn(client, "go")
        lines = told(messages)
        equal(lines[2:4], ["user failed t1: stop", "user text [Request interrupted by user for tool use]"])
        end = result(messages)
        equal((end.subtype, end.is_error, end.terminal_reason), ("error_during_execution", True, "aborted_tools"))
        equal(told(await turn(client, "and now?")), ["init", "text Fine.", "end success: Fine."])
    equal(len(world.requests()), 2, "number of requests")


@case
async def rules_that_come_with_an_answer(world):
    rule = PermissionRuleValue(tool_name="Bash", rule_content="make:*")
    update = PermissionUpdate(type="addRules", rules=[rule], behavior="allow", destination="session")
    decide, asked = deciding(PermissionResultAllow(updated_permissions=[update]))
    world.script(
        call("t1", "Bash", {"command": "make --help"}),
        call("t2", "Bash", {"command": "make --help all"}),
        text("Done."),
    )
    await ask(prompts("go"), options(world, can_use_tool=decide))
    equal([input["command"] for _, input, _ in asked], ["make --help"], "what was asked about")


@case
async def a_mode_that_comes_with_an_answer(world):
    update = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
    decide, asked = deciding(PermissionResultAllow(updated_permissions=[update]))
    world.script(
        call("t1", "Write", WRITE),
        call("t2", "Write", {"file_path": "b.txt", "content": "b\n"}),
        text("Done."),
    )
    await ask(prompts("go"), options(world, can_use_tool=decide))
    equal([input["file_path"] for _, input, _ in asked], ["new.txt"], "what was asked about")
    equal((world.work / "b.txt").read_text(), "b\n")


@case
async def reading_is_not_asked_about(world):
    (world.work / "a.txt").write_text("content\n")
    decide, asked = deciding(PermissionResultDeny(message="no"))
    world.script(call("t1", "Read", {"file_path": str(world.work / "a.txt")}), text("Read."))
    messages = await ask(prompts("go"), options(world, can_use_tool=decide))
    equal((told(messages)[2], asked), ("user done t1", []))
    equal([(id, failed, "content" in words) for id, failed, words in tool_results(world.requests()[1])], [("t1", False, True)])


@case
async def nobody_to_ask(world):
    world.script(call("t1", "Write", WRITE), text("I cannot."))
    messages = await ask("go", options(world))
    lines = [line for line in told(messages) if line != "permission_denied"]
    holds(lines[2].startswith("user failed t1:"), f"the result is {lines[2]!r}")
    equal(lines[3:], ["text I cannot.", "end success: I cannot."])
    equal(result(messages).permission_denials, [{"tool_name": "Write", "tool_use_id": "t1", "tool_input": WRITE}])
    holds(not (world.work / "new.txt").exists(), "the file was written all the same")


@case
async def tools_that_are_allowed(world):
    decide, asked = deciding(PermissionResultDeny(message="no"))
    world.script(
        call("t1", "Bash", {"command": "echo hi"}),
        call("t2", "Bash", {"command": "touch x"}),
        text("Done."),
    )
    chosen = options(world, can_use_tool=decide, allowed_tools=["Bash(echo:*)"])
    messages = await ask(prompts("go"), chosen)
    equal([line for line in told(messages) if line.startswith("user")], ["user done t1: hi", "user failed t2: no"])
    equal([input["command"] for _, input, _ in asked], ["touch x"])


@case
async def tools_that_are_disallowed(world):
    world.script(call("t1", "Bash", {"command": "echo hi > x"}), text("Done."))
    chosen = options(world, disallowed_tools=["Bash"], permission_mode="bypassPermissions")
    messages = await ask("go", chosen)
    holds("Bash" not in init(messages)["tools"], f"the tools are {init(messages)['tools']}")
    offered = [tool["name"] for tool in world.requests()[0]["tools"]]
    holds("Bash" not in offered and "Read" in offered, f"the model is offered {offered}")
    failed = [line for line in told(messages) if line.startswith("user")]
    holds(failed[0].startswith("user failed t1:"), f"the result is {failed}")
    holds(not (world.work / "x").exists(), "the command ran all the same")


@case
async def a_rule_that_forbids_beats_the_mode(world):
    world.script(call("t1", "Bash", {"command": "touch x"}), call("t2", "Bash", {"command": "echo hi"}), text("Done."))
    chosen = options(world, disallowed_tools=["Bash(touch:*)"], permission_mode="bypassPermissions")
    messages = await ask("go", chosen)
    lines = [line for line in told(messages) if line.startswith("user")]
    holds(lines[0].startswith("user failed t1:"), f"the result is {lines[0]}")
    equal(lines[1:], ["user done t2: hi"])


@case
async def only_some_tools(world):
    world.script(text("Hi."))
    messages = await ask("go", options(world, tools=["Read", "Glob"]))
    equal(sorted(init(messages)["tools"]), ["Glob", "Read"])
    equal(sorted(tool["name"] for tool in world.requests()[0]["tools"]), ["Glob", "Read"])


@case
async def no_tools(world):
    world.script(text("Hi."))
    messages = await ask("go", options(world, tools=[]))
    equal((init(messages)["tools"], world.requests()[0].get("tools") or []), ([], []))


@case
async def the_preset_of_tools(world):
    world.script(text("Hi."))
    messages = await ask("go", options(world, tools={"type": "preset", "preset": "claude_code"}))
    holds({"Read", "Write", "Bash"} <= set(init(messages)["tools"]), f"the tools are {init(messages)['tools']}")


async def outcome(world, mode):
    """What becomes of an edit, a command and a read in a mode, when nobody can be asked."""
    (world.work / "a.txt").write_text("a\n")
    (world.work / "run.sh").write_text("exit 0\n")
    calls = [
        tool_use("edit", "Edit", {"file_path": "a.txt", "old_string": "a", "new_string": "b"}),
        tool_use("run", "Bash", {"command": "sh run.sh"}),
        tool_use("read", "Read", {"file_path": "a.txt"}),
    ]
    world.script({"content": calls}, text("Done."))
    messages = await ask("go", options(world, permission_mode=mode))
    equal(init(messages)["permissionMode"], mode)
    equal(result(messages).num_turns, 4)
    return {id: "failed" if failed else "done" for id, failed, _ in tool_results(world.requests()[1])}


@case
async def mode_default(world):
    equal(await outcome(world, "default"), {"edit": "failed", "run": "failed", "read": "done"})


@case
async def mode_accept_edits(world):
    equal(await outcome(world, "acceptEdits"), {"edit": "done", "run": "failed", "read": "done"})
    equal((world.work / "a.txt").read_text(), "b\n")


@case
async def mode_plan(world):
    equal(await outcome(world, "plan"), {"edit": "failed", "run": "failed", "read": "done"})


@case
async def mode_dont_ask(world):
    equal(await outcome(world, "dontAsk"), {"edit": "failed", "run": "failed", "read": "done"})


@case
async def mode_bypass(world):
    equal(await outcome(world, "bypassPermissions"), {"edit": "done", "run": "done", "read": "done"})


@case
async def mode_auto_is_not_everything(world):
    equal(await outcome(world, "auto"), {"edit": "failed", "run": "failed", "read": "done"})


@case
async def the_mode_is_changed(world):
    world.script(call("t1", "Write", WRITE), text("One."), call("t2", "Write", WRITE), text("Two."))
    async with ClaudeSDKClient(options=options(world)) as client:
        first = await turn(client, "a")
        await client.set_permission_mode("acceptEdits")
        second = await turn(client, "b")
    holds(any(line.startswith("user failed t1") for line in told(first)), f"{told(first)}")
    holds("user done t2" in told(second), f"{told(second)}")
    equal(init(second)["permissionMode"], "acceptEdits")


@case
async def a_mode_that_does_not_exist(world):
    world.script(text("Still here."))
    async with ClaudeSDKClient(options=options(world)) as client:
        try:
            await client.set_permission_mode("nonsense")
        except Exception as error:
            holds("nonsense" in str(error), f"the error is {error}")
        else:
            raise AssertionError("a mode that does not exist was taken")
        equal(told(await turn(client, "a"))[-1], "end success: Still here.")


@case
async def bypass_must_be_permitted_at_the_start(world):
    async with ClaudeSDKClient(options=options(world)) as client:
        try:
            await client.set_permission_mode("bypassPermissions")
        except Exception:
            return
    raise AssertionError("everything was permitted in the middle of a session")


@case
async def an_unknown_tool(world):
    world.script(call("t1", "Frobnicate", {}), text("Sorry."))
    messages = await ask("go", options(world))
    lines = told(messages)
    holds("user failed t1:" in lines[2] and "Frobnicate" in lines[2], f"the result is {lines[2]!r}")
    equal(lines[3:], ["text Sorry.", "end success: Sorry."])


@case
async def a_limit_on_turns(world):
    world.script(*(call(f"t{n}", "Bash", {"command": "echo hi"}) for n in range(4)))
    messages, error = await ask_in_vain("go", options(world, max_turns=2, allowed_tools=["Bash"]))
    end = result(messages)
    equal((end.subtype, end.is_error, end.terminal_reason), ("error_max_turns", True, "max_turns"))
    equal(end.errors, ["Reached maximum number of turns (2)"])
    equal((type(error).__name__, error.subtype, error.exit_code), ("ResultError", "error_max_turns", 1))
    equal(len(world.requests()), 2, "number of requests")


@case
async def a_limit_on_cost(world):
    usage = {"input_tokens": 1000000, "output_tokens": 0}
    world.script(*(call(f"t{n}", "Bash", {"command": "echo hi"}, usage=usage) for n in range(3)))
    messages, error = await ask_in_vain("go", options(world, max_budget_usd=0.5, allowed_tools=["Bash"]))
    end = result(messages)
    equal((end.subtype, end.is_error, end.terminal_reason), ("error_max_budget_usd", True, "budget_exhausted"))
    holds(end.total_cost_usd >= 0.5 and end.errors, f"{end.total_cost_usd} dollars, errors {end.errors}")
    equal((type(error).__name__, error.subtype), ("ResultError", "error_max_budget_usd"))


@case
async def a_budget_that_is_enough(world):
    world.script(text("Four."))
    messages = await ask("What is 2 + 2?", options(world, max_budget_usd=0.1))
    equal(told(messages)[-1], "end success: Four.")
