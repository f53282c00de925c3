// `zori mcp serve --http` on a free port, and a way in for clients that know nothing of its token.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createServer, request } from "node:http";
import { createInterface } from "node:readline";

import { ZORI } from "../conform.mjs";

/** Starts a server; the first line that it writes to that stream names its address. */
async function started(process, stream) {
  const { value } = await createInterface({ input: stream })[Symbol.asyncIterator]().next();
  const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(value)?.[0];
  if (url === undefined) throw new Error(`the server said ${value}`);
  const ended = new Promise((resolve) => process.once("exit", (code, signal) => resolve(code ?? signal)));
  const end = () => {
    process.kill("SIGTERM");
    return ended;
  };
  return { url, end };
}

/** Starts zori's server. */
export async function serveHttp(world, ...args) {
  const token = randomBytes(16).toString("hex");
  const words = ["mcp", "serve", "--http", "127.0.0.1:0", "--provider", "anthropic", ...args];
  const env = { ...world.env, ZORI_MCP_TOKEN: token };
  const process = spawn(ZORI, words, { cwd: world.work, env, stdio: ["ignore", "inherit", "pipe"] });
  return { ...(await started(process, process.stderr)), token };
}

/** Starts the suite's tools on zori's server code. */
export async function serveFixtures(program) {
  const token = randomBytes(16).toString("hex");
  const process = spawn(program, [token], { stdio: ["ignore", "pipe", "inherit"] });
  return { ...(await started(process, process.stdout)), token };
}

/** Listens beside a server and shows its token for whoever asks; everything else passes as it is. */
export async function lettingIn({ url, token }) {
  const target = new URL(url);
  const listener = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${token}` };
    const { method, url: path } = asked;
    const passed = request({ host: target.hostname, port: target.port, method, path, headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const close = () => {
    listener.closeAllConnections();
    listener.close();
  };
  return { url: `http://localhost:${listener.address().port}${target.pathname}`, close };
}
