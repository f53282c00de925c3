"""Sessions that go on, modes, models and commands."""

from acp import text_block
from acp.schema import McpServerStdio

from conform import body, call, case, equal, holds, text, tool_results

from . import Editor, ask, connected, refused, session


@case
async def a_session_is_loaded(world):
    (world.work / "a.txt").write_text("content\n")
    world.script(call("t1", "read", {"path": "a.txt"}), text("It says content."), text("Yes."))
    async with session(world, Editor()) as (connection, opened):
        id = opened.session_id
        await ask(connection, id, "Read it")
    editor = Editor()
    async with connected(world, editor) as (connection, _):
        await connection.load_session(cwd=str(world.work), session_id=id, mcp_servers=[])
        lines = editor.told(id)
        equal((lines[0], lines[-1]), ("user Read it", "text It says content."))
        holds("call #1 read" in lines, f"the call is not told: {lines}")
        equal(await ask(connection, id, "Sure?"), "end_turn")
    sent = body(world.requests()[2])
    holds("Read it" in sent and "It says content." in sent and "t1" in sent, f"the model was sent {sent}")


@case
async def a_session_that_is_not_there(world):
    async with connected(world, Editor()) as (connection, _):
        error = await refused(connection.load_session(cwd=str(world.work), session_id="missing-1", mcp_servers=[]))
        holds("missing-1" in f"{error} {error.data}", f"the error is {error} {error.data}")


@case
async def sessions_are_listed(world):
    world.script(text("Hi."))
    async with session(world, Editor()) as (connection, opened):
        await ask(connection, opened.session_id, "Hello")
        listed = await connection.list_sessions(cwd=str(world.work))
    equal([(entry.session_id, entry.cwd) for entry in listed.sessions], [(opened.session_id, str(world.work))])


@case
async def a_session_is_resumed(world):
    world.script(text("Hi."), text("Yes."))
    async with session(world, Editor()) as (connection, opened):
        await ask(connection, opened.session_id, "My name is Ada.")
    editor = Editor()
    async with connected(world, editor) as (connection, answer):
        holds(answer.agent_capabilities.session_capabilities.resume is not None, "resume is not offered")
        await connection.resume_session(session_id=opened.session_id, cwd=str(world.work))
        equal(editor.told(), [], "updates: a resumed session is not told again")
        await ask(connection, opened.session_id, "Who am I?")
    holds("My name is Ada." in body(world.requests()[1]), "the model does not know what was said")


@case
async def the_modes(world):
    async with session(world, Editor()) as (_, opened):
        equal(opened.modes.current_mode_id, "default")
        ids = {mode.id for mode in opened.modes.available_modes}
        holds({"default", "plan"} <= ids and len(ids) == 7, f"the modes are {sorted(ids)}")


@case
async def the_mode_is_changed(world):
    editor = Editor("reject_once")
    world.script(call("t1", "write", {"path": "a.txt", "content": "a"}), text("Done."))
    async with session(world, editor) as (connection, opened):
        edits = next(mode.id for mode in opened.modes.available_modes if "edit" in mode.id.lower())
        await connection.set_session_mode(session_id=opened.session_id, mode_id=edits)
        await ask(connection, opened.session_id, "Write")
    equal((editor.asked, [failed for _, failed, _ in tool_results(world.requests()[1])]), ([], [False]))


@case
async def a_mode_that_does_not_exist(world):
    async with session(world, Editor()) as (connection, opened):
        error = await refused(connection.set_session_mode(session_id=opened.session_id, mode_id="nonsense"))
        holds("nonsense" in f"{error} {error.data}", f"the error is {error} {error.data}")


@case
async def the_model_is_changed(world):
    world.script(text("Hi."))
    async with session(world, Editor()) as (connection, opened):
        models = next(option for option in opened.config_options if option.category == "model")
        equal(models.current_value.split(":")[-1], "claude-haiku-4-5")
        wanted = next(option.value for option in models.options if "sonnet" in option.value)
        await connection.set_config_option(config_id=models.id, session_id=opened.session_id, value=wanted)
        await ask(connection, opened.session_id, "Hi")
    equal(world.requests()[0]["model"], wanted.split(":")[-1])


@case
async def the_commands(world):
    editor = Editor()
    world.script(text("Hi."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Hi")
    lists = [u["availableCommands"] for _, u in editor.updates if u["sessionUpdate"] == "available_commands_update"]
    holds(lists and all(command["description"] for command in lists[-1]), f"the commands are {lists}")


@case
async def a_command_is_run(world):
    editor = Editor()
    world.script(text("Hi."), text("A summary."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Hi")
        lists = [u["availableCommands"] for _, u in editor.updates if u["sessionUpdate"] == "available_commands_update"]
        names = [command["name"] for command in lists[-1]]
        holds("compact" in names, f"the commands are {names}")
        equal(await ask(connection, opened.session_id, "/compact"), "end_turn")


@case
async def mcp_servers_do_not_stop_a_session(world):
    world.script(text("Hi."))
    server = McpServerStdio(name="files", command="/no/such/program", args=[], env=[])
    async with connected(world, Editor()) as (connection, _):
        opened = await connection.new_session(cwd=str(world.work), mcp_servers=[server])
        equal(await ask(connection, opened.session_id, "Hi"), "end_turn")


@case
async def a_folder_that_is_not_there(world):
    async with connected(world, Editor()) as (connection, _):
        error = await refused(connection.new_session(cwd=str(world.work / "missing"), mcp_servers=[]))
        holds("missing" in f"{error} {error.data}", f"the error is {error} {error.data}")


@case
async def a_session_is_closed(world):
    world.script(text("Hi."))
    async with connected(world, Editor()) as (connection, answer):
        holds(answer.agent_capabilities.session_capabilities.close is not None, "closing is not offered")
        id = (await connection.new_session(cwd=str(world.work), mcp_servers=[])).session_id
        await connection.close_session(session_id=id)
        error = await refused(connection.prompt(session_id=id, prompt=[text_block("Hi")]))
        holds(id in f"{error} {error.data}", f"the error is {error} {error.data}")


@case
async def further_folders(world):
    lib = world.work.parent / "lib"
    lib.mkdir()
    (lib / "a.txt").write_text("from the library\n")
    world.script(call("t1", "read", {"path": str(lib / "a.txt")}), text("Read."))
    editor = Editor()
    async with connected(world, editor) as (connection, answer):
        can = answer.agent_capabilities.session_capabilities
        holds(can.additional_directories is not None, "further folders are not offered")
        opened = await connection.new_session(
            cwd=str(world.work), additional_directories=[str(lib)], mcp_servers=[]
        )
        await ask(connection, opened.session_id, "Read it")
    equal(editor.asked, [])
    ((_, _, words),) = tool_results(world.requests()[1])
    holds("from the library" in words, f"the model was told {words}")


@case
async def the_ways_to_log_in(world):
    async with connected(world, Editor()) as (connection, answer):
        for method in answer.auth_methods:
            holds(method.name and method.description, f"{method}")
        await connection.authenticate(method_id=answer.auth_methods[0].id)
        error = await refused(connection.authenticate(method_id="no-such-way"))
        holds("no-such-way" in f"{error} {error.data}", f"the error is {error} {error.data}")
