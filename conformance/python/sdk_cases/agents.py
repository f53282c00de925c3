"""Agents inside the agent: what they say carries the call that started them."""

from claude_agent_sdk import AgentDefinition

from conform import call, case, equal, holds, text

from . import ask, options, told

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
    """They are not built: stderr says so, and the model hears which agents there are."""
    said = []
    reviewer = AgentDefinition(description="Reviews code", prompt="You are a strict reviewer.", tools=["Read", "Grep"])
    work = {"description": "review", "prompt": "review it", "subagent_type": "code-reviewer"}
    world.script(call("task", "Task", work), text("Then not."))
    agents = {"code-reviewer": reviewer}
    messages = await ask("go", options(world, agents=agents, allowed_tools=["Task"], stderr=said.append))
    holds(any("sub-agents" in line and "not used" in line for line in said), f"stderr says {said}")
    failed = [line for line in told(messages) if line.startswith("user failed task")]
    holds(failed and "general-purpose" in failed[0], f"{told(messages)}")


@case
async def an_agent_nobody_knows(world):
    work = {"description": "x", "prompt": "y", "subagent_type": "no-such-agent"}
    world.script(call("task", "Task", work), text("Oh."))
    messages = await ask("go", options(world, allowed_tools=["Task"]))
    failed = [line for line in told(messages) if line.startswith("user failed task")]
    holds(failed and "no-such-agent" in failed[0], f"{told(messages)}")
