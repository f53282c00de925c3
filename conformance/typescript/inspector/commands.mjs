// The MCP inspector's command line, on lines and over HTTP.

import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { call, equal, failure, holds, text, ZORI } from "../conform.mjs";
import { serveHttp } from "../mcp/_server.mjs";

const PACKAGE = "@modelcontextprotocol/inspector";
const PLACE = dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`));
const INSPECTOR = join(PLACE, JSON.parse(readFileSync(join(PLACE, "package.json"), "utf8")).bin["mcp-inspector"]);

/** Runs the inspector; returns its exit code and what it printed, as data where it is. */
function inspect(world, ...args) {
  const env = { ...world.env, MCP_INSPECTOR_SECRET_STORE: "memory" };
  return new Promise((resolve) => {
    execFile(process.execPath, [INSPECTOR, "--cli", ...args], { cwd: world.work, env }, (error, out, err) => {
      let data;
      try {
        data = JSON.parse(out);
      } catch {
        data = out;
      }
      resolve({ code: error?.code ?? 0, data, err });
    });
  });
}

/** The arguments for a server that the inspector starts. */
function onLines(world, ...more) {
  const args = ["mcp", "serve", "--provider", "anthropic", ...more];
  const server = { type: "stdio", command: ZORI, args, env: world.env, cwd: world.work };
  const file = join(world.home, "servers.json");
  writeFileSync(file, JSON.stringify({ mcpServers: { zori: server } }));
  return ["--config", file, "--server", "zori"];
}

export async function the_tools_and_their_schemas(world) {
  const { code, data, err } = await inspect(world, ...onLines(world), "--method", "tools/list", "--strict");
  equal(code, 0, err);
  const names = data.tools.map(({ name }) => name);
  for (const name of ["read", "write", "bash", "prompt"]) holds(names.includes(name), `the tools are ${names}`);
}

export async function a_tool_on_lines(world) {
  writeFileSync(world.path("a.txt"), "one\n");
  const call = ["--method", "tools/call", "--tool-name", "read", "--tool-arg", "path=a.txt"];
  const { code, data, err } = await inspect(world, ...onLines(world), ...call);
  equal(code, 0, err);
  equal(JSON.parse(data.content[0].text).data.content, "one\n");
}

export async function a_tool_over_http(world) {
  writeFileSync(world.path("a.txt"), "one\n");
  const server = await serveHttp(world);
  try {
    const header = ["--header", `Authorization: Bearer ${server.token}`];
    const call = ["--method", "tools/call", "--tool-name", "read", "--tool-arg", "path=a.txt"];
    const { code, data, err } = await inspect(world, server.url, "--transport", "http", ...header, ...call);
    equal(code, 0, err);
    equal(JSON.parse(data.content[0].text).data.content, "one\n");
    const refused = await inspect(world, server.url, "--transport", "http", "--method", "tools/list");
    holds(refused.code !== 0, `without the token it got ${JSON.stringify(refused.data)}`);
  } finally {
    equal(await server.end(), 143, "how the server ended");
  }
}

export async function a_change_that_a_mode_allows(world) {
  const call = ["--method", "tools/call", "--tool-name", "write", "--tool-arg", "path=b.txt", "content=two"];
  const server = onLines(world, "--permission-mode", "acceptEdits");
  const { code, err } = await inspect(world, ...server, ...call);
  equal(code, 0, err);
  equal(readFileSync(world.path("b.txt"), "utf8"), "two");
}

export async function a_whole_turn(world) {
  writeFileSync(world.path("a.txt"), "secret word\n");
  await world.script(call("t1", "read", { path: "a.txt" }), text("It says so."));
  const prompt = ["--method", "tools/call", "--tool-name", "prompt", "--tool-arg", "prompt=Read a.txt"];
  const { code, data, err } = await inspect(world, ...onLines(world), ...prompt);
  equal([code, data.content?.[0].text], [0, "It says so."], err);
}

export async function a_provider_that_refuses_the_key(world) {
  await world.script(failure(401, "authentication_error", "invalid x-api-key"));
  const prompt = ["--method", "tools/call", "--tool-name", "prompt", "--tool-arg", "prompt=hello"];
  const { data } = await inspect(world, ...onLines(world), ...prompt);
  holds(JSON.stringify(data).includes("invalid x-api-key"), `it said ${JSON.stringify(data)}`);
}
