"""Tools of MCP servers: those in the caller's own process, and those in processes of their own."""

import asyncio
import sys

from claude_agent_sdk import ClaudeSDKClient, create_sdk_mcp_server, tool
from mcp.server import Server

from conform import call, case, equal, holds, text, tool_results, tool_use, until

from . import ask, init, options, prompts, result, told, turn


@tool("add", "Add two numbers", {"a": float, "b": float})
async def add(args):
    return {"content": [{"type": "text", "text": f"{args['a']} + {args['b']} = {args['a'] + args['b']}"}]}


@tool("divide", "Divide one number by another", {"a": float, "b": float})
async def divide(args):
    if args["b"] == 0:
        return {"content": [{"type": "text", "text": "Error: division by zero"}], "is_error": True}
    return {"content": [{"type": "text", "text": f"{args['a'] / args['b']}"}]}


@tool("explode", "Fail", {})
async def explode(args):
    raise RuntimeError("the tool blew up")


def calculator():
    return {"calc": create_sdk_mcp_server(name="calculator", version="2.0.0", tools=[add, divide, explode])}


ALLOWED = ["mcp__calc__add", "mcp__calc__divide", "mcp__calc__explode"]


@case
async def a_calculator_in_the_process(world):
    world.script(call("t1", "mcp__calc__add", {"a": 15, "b": 27}), text("42."))
    chosen = options(world, mcp_servers=calculator(), allowed_tools=ALLOWED)
    messages = await ask(prompts("Calculate 15 + 27"), chosen)
    equal(
        told(messages),
        [
            "init",
            'call t1 mcp__calc__add {"a": 15, "b": 27}',
            "user done t1: 15 + 27 = 42",
            "text 42.",
            "end success: 42.",
        ],
    )
    equal(set(ALLOWED) - set(init(messages)["tools"]), set(), "tools that `init` does not list")
    servers = [(server["name"], server["status"]) for server in init(messages)["mcp_servers"]]
    equal(servers, [("calc", "connected")])


@case
async def the_model_sees_the_schema(world):
    world.script(text("Fine."))
    await ask(prompts("Hi"), options(world, mcp_servers=calculator()))
    offered = {entry["name"]: entry for entry in world.requests()[0]["tools"]}
    entry = offered["mcp__calc__add"]
    equal((entry["description"], sorted(entry["input_schema"]["properties"])), ("Add two numbers", ["a", "b"]))


@case
async def a_tool_that_says_it_failed(world):
    calls = [tool_use("t1", "mcp__calc__divide", {"a": 1, "b": 0}), tool_use("t2", "mcp__calc__explode", {})]
    world.script({"content": calls}, text("Oh."))
    chosen = options(world, mcp_servers=calculator(), allowed_tools=ALLOWED)
    messages = await ask(prompts("Divide"), chosen)
    results = {id: (failed, words) for id, failed, words in tool_results(world.requests()[1])}
    equal(results["t1"], (True, "Error: division by zero"))
    holds(results["t2"][0] and "the tool blew up" in results["t2"][1], f"the result is {results['t2']}")
    equal(told(messages)[-1], "end success: Oh.")


@case
async def a_tool_nobody_allowed(world):
    world.script(call("t1", "mcp__calc__add", {"a": 1, "b": 2}), text("Oh."))
    messages = await ask(prompts("Add"), options(world, mcp_servers=calculator()))
    equal([failed for _, failed, _ in tool_results(world.requests()[1])], [True])
    equal(told(messages)[-1], "end success: Oh.")


# A server as one writes it with the protocol's own library.
OUTSIDE = """
from mcp.server import MCPServer

server = MCPServer("outside")

@server.tool()
def greet(name: str) -> str:
    "Greet somebody"
    return f"Hello {name}."

server.run()
"""


@case
async def a_server_in_a_process_of_its_own(world):
    world.script(call("t1", "mcp__outside__greet", {"name": "Ada"}), text("Done."))
    servers = {"outside": {"type": "stdio", "command": sys.executable, "args": ["-c", OUTSIDE]}}
    chosen = options(world, mcp_servers=servers, allowed_tools=["mcp__outside__greet"])
    messages = await ask(prompts("Greet Ada"), chosen)
    equal(
        told(messages),
        [
            "init",
            'call t1 mcp__outside__greet {"name": "Ada"}',
            "user done t1: Hello Ada.",
            "text Done.",
            "end success: Done.",
        ],
    )


@case
async def a_server_that_does_not_start(world):
    world.script(text("Fine."))
    servers = {"files": {"type": "stdio", "command": "no-such-program", "args": []}}
    async with ClaudeSDKClient(options=options(world, mcp_servers=servers)) as client:
        messages = await turn(client, "Hi")
        status = await client.get_mcp_status()
    equal(told(messages)[-1], "end success: Fine.")
    equal({server["name"]: server["status"] for server in status["mcpServers"]}, {"files": "failed"})


@case
async def the_state_of_the_servers(world):
    world.script(text("Fine."))
    async with ClaudeSDKClient(options=options(world, mcp_servers=calculator())) as client:
        await turn(client, "Hi")
        status = await client.get_mcp_status()
    equal({server["name"]: server["status"] for server in status["mcpServers"]}, {"calc": "connected"})


@case
async def a_slow_tool_is_waited_for(world):
    going = []

    @tool("wait", "Wait for the model server's gate", {})
    async def wait(args):
        going.append(True)
        await until(lambda: len(going) == 2)
        return {"content": [{"type": "text", "text": "waited"}]}

    world.script({"content": [tool_use("t1", "mcp__slow__wait", {}), tool_use("t2", "mcp__slow__wait", {})]}, text("Ok."))
    servers = {"slow": create_sdk_mcp_server(name="slow", tools=[wait])}
    messages = await ask(prompts("Wait"), options(world, mcp_servers=servers, allowed_tools=["mcp__slow__wait"]))
    equal(sorted(line for line in told(messages) if line.startswith("user")), ["user done t1: waited", "user done t2: waited"])


@case
async def a_server_that_never_answers(world):
    async def never(context, params):
        await asyncio.Event().wait()

    silent = Server("silent", on_list_tools=never)
    world.script(text("Fine."))
    servers = {**calculator(), "silent": {"type": "sdk", "name": "silent", "instance": silent}}
    messages = await ask(prompts("Hi"), options(world, mcp_servers=servers))
    listed = {server["name"]: server["status"] for server in init(messages)["mcp_servers"]}
    equal(listed, {"calc": "connected", "silent": "failed"})
    equal(told(messages)[-1], "end success: Fine.")


@case
async def a_tool_that_never_answers_is_interrupted(world):
    began = asyncio.Event()

    @tool("hang", "Never answer", {})
    async def hang(args):
        began.set()
        await asyncio.Event().wait()

    world.script(call("t1", "mcp__slow__hang", {}), text("Fine."))
    servers = {"slow": create_sdk_mcp_server(name="slow", tools=[hang])}
    chosen = options(world, mcp_servers=servers, allowed_tools=["mcp__slow__hang"])
    async with ClaudeSDKClient(options=chosen) as client:
        await client.query("Hang")
        await began.wait()
        await client.interrupt()
        seen = [message async for message in client.receive_response()]
        equal(result(seen).terminal_reason, "aborted_tools")
        equal(told(await turn(client, "And now?"))[-1], "end success: Fine.")
