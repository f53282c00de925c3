"""Agents inside the agent: what they say carries the call that started them."""

from claude_agent_sdk import AgentDefinition

from conform import call, case, equal, holds, system_text, text

from . import ask, init, options, told

WORK = {"description": "look it up", "prompt": "INNER: what is in a.txt?", "subagent_type": "general-purpose"}


@case
async def an_agent_inside(world):
    (world.work / "a.txt").write_text("content\n")
    world.script(
        call("task", "Task", WORK),
        call("inner", "Read", {"file_path": "a.txt"}),
        text("It says content."),
        text("Found."),
    )
    messages = await ask("go", options(world, allowed_tools=["Task"]))
    lines = [line for line in told(messages) if not line.startswith("task_")]
    holds('[task] call inner Read {"file_path": "a.txt"}' in lines, f"the inner call is not told as such: {lines}")
    holds("[task] user done inner" in lines, f"its result is not told as such: {lines}")
    holds("user done task" in lines, f"the task's result is missing: {lines}")
    equal(lines[-2:], ["text Found.", "end success: Found."])
    holds("INNER" in str(world.requests()[1]["messages"][0]), "the agent was not given its prompt")
    holds("It says content." in str(world.requests()[3]["messages"][-1]), "its answer did not come back")


@case
async def started_and_ended(world):
    world.script(call("task", "Task", WORK), text("Nothing."), text("Done."))
    messages = await ask("go", options(world, allowed_tools=["Task"]))
    lines = told(messages)
    equal(lines.count("task_started"), lines.count("task_notification"), "tasks that started and ended")
    equal(lines[-1], "end success: Done.")


@case
async def agents_of_the_caller(world):
    reviewer = AgentDefinition(
        description="Reviews code", prompt="You are a strict reviewer.", tools=["Read", "Grep"], model="inherit"
    )
    work = {"description": "review", "prompt": "INNER: review it", "subagent_type": "code-reviewer"}
    world.script(call("task", "Task", work), text("Looks good."), text("Reviewed."))
    messages = await ask("go", options(world, agents={"code-reviewer": reviewer}, allowed_tools=["Task"]))
    holds("code-reviewer" in init(messages)["agents"], f"the agents are {init(messages)['agents']}")
    inner = world.requests()[1]
    holds("You are a strict reviewer." in system_text(inner), f"its prompt is {system_text(inner)!r}")
    equal(sorted(tool["name"] for tool in inner["tools"]), ["Grep", "Read"])
    equal(told(messages)[-1], "end success: Reviewed.")


@case
async def an_agent_nobody_knows(world):
    work = {"description": "x", "prompt": "y", "subagent_type": "no-such-agent"}
    world.script(call("task", "Task", work), text("Oh."))
    messages = await ask("go", options(world, allowed_tools=["Task"]))
    failed = [line for line in told(messages) if line.startswith("user failed task")]
    holds(failed and "no-such-agent" in failed[0], f"{told(messages)}")
