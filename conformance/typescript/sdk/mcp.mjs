// Tools of MCP servers: those in the caller's own process, and those zori cannot reach.

import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

import { call, equal, holds, text, toolResults, toolUse } from "../conform.mjs";
import { Conversation, ask, init, options, prompts, told } from "./_run.mjs";

const NUMBERS = { a: z.number(), b: z.number() };

function calculator() {
  const add = tool("add", "Add two numbers", NUMBERS, async ({ a, b }) => ({
    content: [{ type: "text", text: `${a} + ${b} = ${a + b}` }],
  }));
  const divide = tool("divide", "Divide", NUMBERS, async ({ a, b }) =>
    b === 0
      ? { content: [{ type: "text", text: "Error: division by zero" }], isError: true }
      : { content: [{ type: "text", text: `${a / b}` }] },
  );
  const explode = tool("explode", "Fail", {}, async () => {
    throw new Error("the tool blew up");
  });
  return { calc: createSdkMcpServer({ name: "calc", version: "2.0.0", tools: [add, divide, explode] }) };
}

const ALLOWED = ["mcp__calc__add", "mcp__calc__divide", "mcp__calc__explode"];

export async function aCalculatorInTheProcess(world) {
  await world.script(call("t1", "mcp__calc__add", { a: 15, b: 27 }), text("42."));
  const chosen = options(world, { mcpServers: calculator(), allowedTools: ALLOWED });
  const messages = await ask(prompts("Calculate 15 + 27"), chosen);
  equal(told(messages), [
    "init",
    'call t1 mcp__calc__add {"a":15,"b":27}',
    "user done t1: 15 + 27 = 42",
    "text 42.",
    "end success: 42.",
  ]);
  equal(ALLOWED.filter((name) => !init(messages).tools.includes(name)), [], "tools that `init` does not list");
  equal(init(messages).mcp_servers.map(({ name, status }) => [name, status]), [["calc", "connected"]]);
}

export async function toolsThatFail(world) {
  const calls = [toolUse("t1", "mcp__calc__divide", { a: 1, b: 0 }), toolUse("t2", "mcp__calc__explode", {})];
  await world.script({ content: calls }, text("Oh."));
  const chosen = options(world, { mcpServers: calculator(), allowedTools: ALLOWED });
  equal(told(await ask(prompts("Divide"), chosen)).at(-1), "end success: Oh.");
  const results = toolResults((await world.requests())[1]);
  equal(results[0], ["t1", true, "Error: division by zero"]);
  holds(results[1][1] && results[1][2].includes("the tool blew up"), `the result is ${results[1]}`);
}

export async function aServerThatDoesNotStart(world) {
  await world.script(text("Fine."));
  const mcpServers = { files: { type: "stdio", command: "no-such-program", args: [] } };
  const talk = new Conversation(options(world, { mcpServers }));
  await talk.turn("Hi");
  const servers = await talk.query.mcpServerStatus();
  await talk.end();
  equal(servers.map(({ name, status }) => [name, status]), [["files", "failed"]]);
}

export async function theStateOfTheServers(world) {
  await world.script(text("Fine."));
  const talk = new Conversation(options(world, { mcpServers: calculator() }));
  await talk.turn("Hi");
  const servers = await talk.query.mcpServerStatus();
  await talk.end();
  equal(servers.map(({ name, status }) => [name, status]), [["calc", "connected"]]);
}

export async function aServerThatNeverAnswers(world) {
  const silent = { connect: async (transport) => (transport.onmessage = () => {}), close: async () => {} };
  await world.script(text("Fine."));
  const mcpServers = { ...calculator(), silent: { type: "sdk", name: "silent", instance: silent } };
  const messages = await ask(prompts("Hi"), options(world, { mcpServers }));
  const servers = init(messages).mcp_servers.map(({ name, status }) => [name, status]);
  equal(servers.sort(), [["calc", "connected"], ["silent", "failed"]]);
  equal(told(messages).at(-1), "end success: Fine.");
}
