"""Beginning, prompts and answers."""

from acp import PROTOCOL_VERSION, embedded_text_resource, image_block, resource_block, resource_link_block, text_block

from conform import body, case, equal, failure, holds, text, until

from . import Editor, agent, ask, connected, refused, session

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@case
async def how_it_begins(world):
    async with connected(world, Editor()) as (_, answer):
        equal(answer.protocol_version, PROTOCOL_VERSION)
        equal(answer.agent_info.name, "zori")
        can = answer.agent_capabilities
        equal((can.load_session, can.prompt_capabilities.image, can.prompt_capabilities.embedded_context), (True,) * 3)


@case
async def a_version_from_the_future(world):
    async with agent(world, Editor()) as (connection, _):
        answer = await connection.initialize(PROTOCOL_VERSION + 41)
        equal(answer.protocol_version, PROTOCOL_VERSION)


@case
async def an_answer_in_pieces(world):
    editor = Editor()
    world.script(text("Hello you there."))
    async with session(world, editor) as (connection, opened):
        equal(await ask(connection, opened.session_id, "Hi"), "end_turn")
    equal(editor.told(), ["text Hello you there."])
    pieces = [u["content"]["text"] for _, u in editor.updates if u["sessionUpdate"] == "agent_message_chunk"]
    equal(pieces, ["Hello ", "you ", "there."])
    holds("Hi" in body(world.requests()[0]), "the prompt did not arrive")


@case
async def the_pieces_come_at_once(world):
    editor = Editor()
    world.script(text("Hello you", hold=True))
    async with session(world, editor) as (connection, opened):
        import asyncio

        asking = asyncio.create_task(ask(connection, opened.session_id, "Hi"))
        await until(lambda: editor.told() == ["text Hello you"])
        holds(not asking.done(), "the turn ended before its answer did")
        world.open()
        equal(await asking, "end_turn")


@case
async def thoughts(world):
    editor = Editor()
    thinking = {"type": "thinking", "thinking": "Hm, well.", "signature": "sig"}
    world.script({"content": [thinking, {"type": "text", "text": "Yes."}]})
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Sure?")
    equal(editor.told(), ["thought Hm, well.", "text Yes."])


@case
async def several_turns(world):
    editor = Editor()
    world.script(text("Paris."), text("Two million."))
    async with session(world, editor) as (connection, opened):
        await ask(connection, opened.session_id, "Capital of France?")
        await ask(connection, opened.session_id, "How many people?")
    equal([m["role"] for m in world.requests()[1]["messages"]], ["user", "assistant", "user"])


@case
async def an_image(world):
    world.script(text("A dot."))
    async with session(world, Editor()) as (connection, opened):
        await ask(connection, opened.session_id, [text_block("What is it?"), image_block(PIXEL, "image/png")])
    sent = world.requests()[0]["messages"][-1]["content"]
    equal([block["source"]["data"] for block in sent if block["type"] == "image"], [PIXEL])


@case
async def a_file_in_the_prompt(world):
    world.script(text("A function."))
    inside = resource_block(embedded_text_resource("file:///x/notes.md", "the secret is 42"))
    async with session(world, Editor()) as (connection, opened):
        await ask(connection, opened.session_id, [text_block("Explain"), inside])
    sent = body(world.requests()[0])
    holds("the secret is 42" in sent and "notes.md" in sent, f"the model was sent {sent}")


@case
async def a_link_in_the_prompt(world):
    world.script(text("Seen."))
    link = resource_link_block("main.rs", f"file://{world.work}/main.rs")
    async with session(world, Editor()) as (connection, opened):
        await ask(connection, opened.session_id, [text_block("Explain"), link])
    holds("main.rs" in body(world.requests()[0]), "the model was not told of the link")


@case
async def two_sessions_in_one_process(world):
    editor = Editor()
    world.script({"when": "to the first", **text("One.")}, {"when": "to the second", **text("Two.")})
    async with connected(world, editor) as (connection, _):
        first = (await connection.new_session(cwd=str(world.work), mcp_servers=[])).session_id
        second = (await connection.new_session(cwd=str(world.work), mcp_servers=[])).session_id
        holds(first != second, "both sessions have the same id")
        import asyncio

        await asyncio.gather(ask(connection, first, "to the first"), ask(connection, second, "to the second"))
    equal((editor.told(first), editor.told(second)), (["text One."], ["text Two."]))


@case
async def an_answer_that_is_cut_short(world):
    world.script(*[text("This goes on", stop="max_tokens")] * 6)
    async with session(world, Editor()) as (connection, opened):
        equal(await ask(connection, opened.session_id, "Hi"), "max_tokens")


@case
async def an_answer_that_is_refused(world):
    world.script(text("I will not.", stop="refusal"))
    async with session(world, Editor()) as (connection, opened):
        equal(await ask(connection, opened.session_id, "Hi"), "refusal")


@case
async def a_key_that_is_refused(world):
    world.script(failure(401, "authentication_error", "invalid x-api-key"), text("Here."))
    async with session(world, Editor()) as (connection, opened):
        error = await refused(connection.prompt(session_id=opened.session_id, prompt=[text_block("Hi")]))
        holds(error.code == -32000, f"the code is {error.code}, the message {error}")
        holds("invalid x-api-key" in f"{error} {error.data}", f"the error is {error} {error.data}")
        equal(await ask(connection, opened.session_id, "Again"), "end_turn")


@case
async def a_request_the_provider_refuses(world):
    world.script(failure(400, "invalid_request_error", "prompt is too long"))
    async with session(world, Editor()) as (connection, opened):
        error = await refused(connection.prompt(session_id=opened.session_id, prompt=[text_block("Hi")]))
        holds("prompt is too long" in f"{error} {error.data}", f"the error is {error} {error.data}")


@case
async def too_many_requests_then_well(world):
    editor = Editor()
    world.script(failure(429, "rate_limit_error", "slow down", retry_after="0"), text("Here."))
    async with session(world, editor) as (connection, opened):
        equal(await ask(connection, opened.session_id, "Hi"), "end_turn")
    equal(editor.told()[-1], "text Here.")


@case
async def a_method_nobody_knows(world):
    world.script(text("Still here."))
    async with session(world, Editor()) as (connection, opened):
        error = await refused(connection.ext_method("no/such/method", {}))
        equal(error.code, -32601)
        equal(await ask(connection, opened.session_id, "Hi"), "end_turn")


@case
async def a_session_nobody_knows(world):
    async with connected(world, Editor()) as (connection, _):
        error = await refused(connection.prompt(session_id="no-such-session", prompt=[text_block("Hi")]))
        holds("no-such-session" in f"{error} {error.data}", f"the error is {error} {error.data}")


@case
async def it_ends_when_the_editor_does(world):
    async with agent(world, Editor()) as (connection, process):
        await connection.initialize(PROTOCOL_VERSION)
        process.stdin.close()
        equal(await process.wait(), 0)
