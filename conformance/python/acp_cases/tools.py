"""Calls: what the editor is shown, whom it is asked about, what it does itself."""

import asyncio

from acp import RequestError
from acp.schema import (
    CreateTerminalResponse,
    ReadTextFileResponse,
    TerminalOutputResponse,
    WaitForTerminalExitResponse,
)

from conform import Alive, call, case, equal, holds, text, tool_results, until

from . import Editor, ask, session


def calls(editor):
    """Every call with all that was told of it."""
    found = {}
    for _, update in editor.updates:
        if update["sessionUpdate"] in ("tool_call", "tool_call_update"):
            found.setdefault(update["toolCallId"], {}).update(update)
    return list(found.values())


@case
async def a_file_is_read(world):
    (world.work / "a.txt").write_text("content\n")
    editor = Editor()
    world.script(call("t1", "read", {"path": "a.txt"}), text("Done."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Read it")
    lines = editor.told()
    equal((lines[0], lines[-2:]), ("call #1 read", ["#1 completed", "text Done."]))
    (told,) = calls(editor)
    equal([location["path"] for location in told["locations"]], [str(world.work / "a.txt")])
    equal((told["rawInput"], editor.asked), ({"path": "a.txt"}, []))
    holds("content" in str(told["content"]), f"the content is {told.get('content')}")


@case
async def an_edit_is_shown_as_a_diff(world):
    (world.work / "a.txt").write_text("one\ntwo\n")
    editor = Editor("allow_once")
    world.script(call("t1", "edit", {"path": "a.txt", "old": "two", "new": "three"}), text("Done."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Edit it")
    equal((world.work / "a.txt").read_text(), "one\nthree\n")
    (told,) = calls(editor)
    diffs = [part for part in told["content"] if part["type"] == "diff"]
    equal([diff["path"] for diff in diffs], [str(world.work / "a.txt")])
    holds("two" in diffs[0]["oldText"] and "three" in diffs[0]["newText"], f"the diff is {diffs}")
    equal((told["kind"], told["status"]), ("edit", "completed"))


@case
async def a_file_that_is_new(world):
    editor = Editor("allow_once")
    world.script(call("t1", "write", {"path": "new.txt", "content": "hello\n"}), text("Done."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Write it")
    equal((world.work / "new.txt").read_text(), "hello\n")
    diffs = [part for part in calls(editor)[0]["content"] if part["type"] == "diff"]
    equal([(diff.get("oldText"), diff["newText"]) for diff in diffs], [(None, "hello\n")])


@case
async def the_question_comes_before_the_call_runs(world):
    editor = Editor("reject_once")
    world.script(call("t1", "bash", {"command": "touch ran"}), text("Too bad."))
    async with session(world, editor) as (connection, opened):
        equal(await ask(connection, opened.session_id, "Run it"), "end_turn")
    ((asked, options),) = editor.asked
    kinds = {option.kind for option in options}
    holds({"allow_once", "allow_always", "reject_once"} <= kinds, f"the options are {kinds}")
    equal(asked["toolCallId"], calls(editor)[0]["toolCallId"])
    holds("touch ran" in str(asked) + str(calls(editor)[0]), f"the question does not say what would run: {asked}")
    holds(not (world.work / "ran").exists(), "the command ran all the same")
    equal(editor.told()[-2:], ["#1 failed", "text Too bad."])
    equal([(id, failed) for id, failed, _ in tool_results(world.requests()[1])], [("t1", True)])


@case
async def allowed_once(world):
    editor = Editor("allow_once")
    world.script(call("t1", "bash", {"command": "echo a"}), call("t2", "bash", {"command": "touch ran"}), text("Done."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Run it")
    equal(calls(editor)[1]["status"], "completed")
    holds((world.work / "ran").exists(), "the command did not run")
    holds("touch ran" in str(editor.asked[-1][0]) + str(calls(editor)[1]), f"{editor.asked}")


@case
async def allowed_for_good(world):
    editor = Editor("allow_always")
    world.script(
        call("t1", "write", {"path": "a.txt", "content": "1"}),
        call("t2", "write", {"path": "a.txt", "content": "2"}),
        text("Done."),
    )
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Write")
    equal((len(editor.asked), (world.work / "a.txt").read_text()), (1, "2"))


@case
async def a_command_that_fails(world):
    editor = Editor("allow_once")
    world.script(call("t1", "bash", {"command": "echo oh; exit 3"}), text("Oh."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Run it")
    (told,) = calls(editor)
    equal((told["kind"], told["status"]), ("execute", "failed"))
    holds("oh" in str(told.get("content")), f"the content is {told.get('content')}")


@case
async def a_command_is_watched(world):
    editor = Editor("allow_once")
    waits = "echo so far; until [ -e go ]; do sleep 0.05; done; echo done"
    world.script(call("t1", "bash", {"command": waits}), text("Fine."))
    async with session(world, editor) as (connection, opened):
        asking = asyncio.create_task(ask(connection, opened.session_id, "Run it"))
        await until(lambda: "so far" in str(calls(editor)[0].get("content")) if calls(editor) else False)
        equal(calls(editor)[0]["status"], "in_progress")
        (world.work / "go").touch()
        equal(await asking, "end_turn")
    (told,) = calls(editor)
    equal(told["status"], "completed")
    holds("so far\ndone\n" in told["content"][0]["content"]["text"], f"the content is {told['content']}")


@case
async def a_plan(world):
    editor = Editor()
    todos = [
        {"content": "look", "status": "completed"},
        {"content": "write", "status": "in_progress"},
        {"content": "test", "status": "pending"},
    ]
    world.script(call("t1", "todo_write", {"todos": todos}), text("Done."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Plan it")
    plans = [line for line in editor.told() if line.startswith("plan")]
    equal(plans, ["plan look (completed), write (in_progress), test (pending)"])


@case
async def cancelled_while_the_answer_comes(world):
    editor = Editor()
    world.script(text("This is a long", hold=True), text("Fine."))
    async with session(world, editor) as (connection, opened):
        asking = asyncio.create_task(ask(connection, opened.session_id, "Count"))
        await until(lambda: editor.told() == ["text This is a long"])
        await connection.cancel(session_id=opened.session_id)
        equal(await asking, "cancelled")
        equal(await ask(connection, opened.session_id, "And now?"), "end_turn")


@case
async def cancelled_while_a_command_runs(world):
    editor = Editor("allow_once")
    alive = Alive(world.work)
    world.script(call("t1", "bash", {"command": alive.command}), text("Fine."))
    async with session(world, editor) as (connection, opened):
        asking = asyncio.create_task(ask(connection, opened.session_id, "Sleep"))
        await alive.started()
        await connection.cancel(session_id=opened.session_id)
        equal(await asking, "cancelled")
        equal(calls(editor)[0]["status"], "failed")
        await alive.ended()
        equal(await ask(connection, opened.session_id, "And now?"), "end_turn")


@case
async def cancelled_while_a_question_waits(world):
    asked, never = asyncio.Event(), asyncio.Event()

    async def wait():
        asked.set()
        await never.wait()
        return "cancelled"

    editor = Editor(wait)
    world.script(call("t1", "bash", {"command": "touch ran"}), text("Fine."))
    async with session(world, editor) as (connection, opened):
        asking = asyncio.create_task(ask(connection, opened.session_id, "Run it"))
        await asked.wait()
        await connection.cancel(session_id=opened.session_id)
        never.set()
        equal(await asking, "cancelled")
    holds(not (world.work / "ran").exists(), "the command ran all the same")


@case
async def the_question_is_answered_with_cancelled(world):
    editor = Editor("cancelled")
    world.script(call("t1", "bash", {"command": "touch ran"}), text("Fine."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Run it")
    holds(not (world.work / "ran").exists(), "the command ran all the same")
    equal(calls(editor)[0]["status"], "failed")


class Files(Editor):
    """An editor with a buffer that is not saved."""

    def __init__(self, buffers):
        super().__init__("allow_once")
        self.buffers = buffers

    async def read_text_file(self, session_id, path, line=None, limit=None, **kwargs):
        if path not in self.buffers:
            raise RequestError.resource_not_found(path)
        lines = self.buffers[path].splitlines(keepends=True)[(line or 1) - 1 :]
        return ReadTextFileResponse(content="".join(lines[:limit]))

    async def write_text_file(self, session_id, path, content, **kwargs):
        self.buffers[path] = content


@case
async def the_editors_files_are_read(world):
    path = world.work / "a.txt"
    path.write_text("on disk\n")
    editor = Files({str(path): "not saved yet\n"})
    world.script(call("t1", "read", {"path": "a.txt"}), text("Done."))
    async with session(world, editor, fs=True) as (connection, opened):
        await ask(connection, opened.session_id, "Read it")
    ((_, failed, words),) = tool_results(world.requests()[1])
    holds(not failed and "not saved yet" in words, f"the model was told {words!r}")


@case
async def the_editor_writes_files(world):
    path = world.work / "a.txt"
    path.write_text("on disk\n")
    editor = Files({str(path): "not saved yet\n"})
    world.script(call("t1", "edit", {"path": "a.txt", "old": "not saved", "new": "changed"}), text("Done."))
    async with session(world, editor, fs=True) as (connection, opened):
        await ask(connection, opened.session_id, "Edit it")
    equal((editor.buffers[str(path)], path.read_text()), ("changed yet\n", "on disk\n"))


@case
async def no_editor_file_without_permission(world):
    path = world.work / "a.txt"
    editor = Files({str(path): "old\n"})
    editor.answer = "reject_once"
    world.script(call("t1", "write", {"path": "a.txt", "content": "new\n"}), text("Done."))
    async with session(world, editor, fs=True) as (connection, opened):
        await ask(connection, opened.session_id, "Write it")
    equal(editor.buffers, {str(path): "old\n"})


# A sandbox holds what runs on this side only, so a confined command is not handed to the editor.
UNCONFINED = ("--sandbox", "off")


class Terminals(Editor):
    """An editor that runs commands."""

    def __init__(self):
        super().__init__("allow_once")
        self.log = []

    async def create_terminal(self, session_id, command, args=None, env=None, cwd=None, output_byte_limit=None, **kwargs):
        self.log.append("create")
        self.ran = " ".join([command, *(args or [])])
        self.cwd = cwd
        return CreateTerminalResponse(terminal_id="term-1")

    async def terminal_output(self, session_id, terminal_id, **kwargs):
        return TerminalOutputResponse(output="from the terminal\n", truncated=False)

    async def wait_for_terminal_exit(self, session_id, terminal_id, **kwargs):
        self.log.append("wait")
        return WaitForTerminalExitResponse(exit_code=0)

    async def release_terminal(self, session_id, terminal_id, **kwargs):
        self.log.append("release")

    async def kill_terminal(self, session_id, terminal_id, **kwargs):
        self.log.append("kill")


@case
async def the_editor_runs_commands(world):
    editor = Terminals()
    world.script(call("t1", "bash", {"command": "make all"}), text("Done."))
    async with session(world, editor, terminal=True, args=UNCONFINED) as (connection, opened):
        await ask(connection, opened.session_id, "Build")
    equal(editor.log, ["create", "wait", "release"])
    holds("make all" in editor.ran and editor.cwd == str(world.work), f"it ran {editor.ran!r} in {editor.cwd}")
    ((_, failed, words),) = tool_results(world.requests()[1])
    holds(not failed and "from the terminal" in words, f"the model was told {words!r}")
    shown = [p for _, u in editor.updates for p in u.get("content", []) if isinstance(p, dict) and p.get("type") == "terminal"]
    equal({part["terminalId"] for part in shown}, {"term-1"})


@case
async def a_command_in_the_editor_is_killed(world):
    editor, killed = Terminals(), asyncio.Event()

    async def wait_for_terminal_exit(session_id, terminal_id, **kwargs):
        editor.log.append("wait")
        await killed.wait()
        return WaitForTerminalExitResponse(exit_code=None, signal="SIGKILL")

    async def kill_terminal(session_id, terminal_id, **kwargs):
        editor.log.append("kill")
        killed.set()

    editor.wait_for_terminal_exit, editor.kill_terminal = wait_for_terminal_exit, kill_terminal
    world.script(call("t1", "bash", {"command": "sleep 60"}), text("Fine."))
    async with session(world, editor, terminal=True, args=UNCONFINED) as (connection, opened):
        asking = asyncio.create_task(ask(connection, opened.session_id, "Sleep"))
        await until(lambda: "wait" in editor.log)
        await connection.cancel(session_id=opened.session_id)
        equal(await asking, "cancelled")
        await until(lambda: "release" in editor.log)
    equal([step for step in editor.log if step != "wait"], ["create", "kill", "release"])


@case
async def a_confined_command_stays_here(world):
    editor = Terminals()
    world.script(call("t1", "bash", {"command": "echo here"}), text("Done."))
    async with session(world, editor, terminal=True, args=("--sandbox", "workspace")) as (connection, opened):
        await ask(connection, opened.session_id, "Run it")
    ((_, _, words),) = tool_results(world.requests()[1])
    holds("from the terminal" not in words, f"the model was told {words!r}")
    equal(editor.log, [], "what the editor was asked to do")
