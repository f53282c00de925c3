// The TypeScript library of the Agent Client Protocol, playing an editor.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

import { ZORI } from "../conform.mjs";

export const MODEL = "claude-haiku-4-5";

// Told by the way, at times of zori's choosing.
const BY_THE_WAY = new Set([
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "session_info_update",
  "usage_update",
]);

/** A client that notes everything and answers questions about calls with one kind of answer. */
export class Editor {
  updates = [];
  asked = [];

  constructor(world, { answer = "reject_once", fs = undefined, terminal = undefined, args = [], agent = undefined } = {}) {
    this.answer = answer;
    this.offers = { fs, terminal };
    this.work = world.work;
    const [program, ...words] = agent?.command ?? [ZORI, "acp", "--model", MODEL, ...args];
    this.process = spawn(program, words, {
      cwd: world.work,
      env: { ...world.env, ...agent?.env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.ended = new Promise((resolve) => this.process.once("exit", (code) => resolve(code)));
    const app = client({ name: "conformance" })
      .onNotification(methods.client.session.update, ({ params }) => void this.updates.push(params))
      .onRequest(methods.client.session.requestPermission, ({ params }) => this.#decide(params));
    if (fs) {
      app.onRequest(methods.client.fs.readTextFile, ({ params }) => fs.read(params));
      app.onRequest(methods.client.fs.writeTextFile, ({ params }) => fs.write(params));
    }
    if (terminal) {
      app.onRequest(methods.client.terminal.create, ({ params }) => terminal.create(params));
      app.onRequest(methods.client.terminal.output, ({ params }) => terminal.output(params));
      app.onRequest(methods.client.terminal.waitForExit, ({ params }) => terminal.wait(params));
      app.onRequest(methods.client.terminal.kill, ({ params }) => terminal.kill(params));
      app.onRequest(methods.client.terminal.release, ({ params }) => terminal.release(params));
    }
    const stream = ndJsonStream(Writable.toWeb(this.process.stdin), Readable.toWeb(this.process.stdout));
    this.connection = app.connect(stream);
    this.agent = this.connection.agent;
  }

  async #decide({ toolCall, options }) {
    this.asked.push({ toolCall, options });
    const answer = typeof this.answer === "function" ? await this.answer() : this.answer;
    if (answer === "cancelled") return { outcome: { outcome: "cancelled" } };
    const { optionId } = options.find((option) => option.kind === answer);
    return { outcome: { outcome: "selected", optionId } };
  }

  initialize(protocolVersion = PROTOCOL_VERSION) {
    const { fs, terminal } = this.offers;
    return this.agent.request(methods.agent.initialize, {
      protocolVersion,
      clientCapabilities: {
        fs: { readTextFile: Boolean(fs), writeTextFile: Boolean(fs) },
        terminal: Boolean(terminal),
      },
      clientInfo: { name: "conformance", version: "1.0.0" },
    });
  }

  open(more = {}) {
    return this.agent.request(methods.agent.session.new, { cwd: this.work, mcpServers: [], ...more });
  }

  /** Prompts, and returns why the turn ended. */
  async ask(sessionId, words) {
    const prompt = typeof words === "string" ? [{ type: "text", text: words }] : words;
    return (await this.agent.request(methods.agent.session.prompt, { sessionId, prompt })).stopReason;
  }

  cancel(sessionId) {
    return this.agent.notify(methods.agent.session.cancel, { sessionId });
  }

  /** Every call with all that was told of it. */
  calls() {
    const found = new Map();
    for (const { update } of this.updates) {
      if (!["tool_call", "tool_call_update"].includes(update.sessionUpdate)) continue;
      found.set(update.toolCallId, { ...found.get(update.toolCallId), ...update });
    }
    return [...found.values()];
  }

  /** The updates as one line per happening; pieces of text joined, calls numbered as they come. */
  told(sessionId = undefined) {
    const lines = [];
    const numbers = new Map();
    for (const { update, sessionId: of } of this.updates) {
      const kind = update.sessionUpdate;
      if (BY_THE_WAY.has(kind) || (sessionId !== undefined && of !== sessionId)) continue;
      if (kind.endsWith("_chunk")) {
        const who = { agent_message_chunk: "text", agent_thought_chunk: "thought", user_message_chunk: "user" }[kind];
        const words = update.content.text ?? `<${update.content.type}>`;
        if (lines.at(-1)?.[0] === who) lines.at(-1)[1] += words;
        else lines.push([who, words]);
      } else if (kind === "tool_call") {
        numbers.set(update.toolCallId, numbers.size + 1);
        lines.push(["call", `#${numbers.size} ${update.kind}`]);
      } else if (kind === "tool_call_update") {
        const who = `#${numbers.get(update.toolCallId)}`;
        const before = lines.findLast((line) => line[0] === who)?.[1];
        // A call may tell more of itself while its state stays the same.
        if (update.status && update.status !== before) lines.push([who, update.status]);
      } else if (kind === "plan") {
        lines.push(["plan", update.entries.map((entry) => `${entry.content} (${entry.status})`).join(", ")]);
      } else lines.push([kind, ""]);
    }
    return lines.map(([who, words]) => `${who} ${words}`.trim());
  }

  /** Closes the connection and returns how zori ended. */
  async end() {
    this.process.stdin.end();
    return this.ended;
  }
}

/** Runs a case with an editor that has one session; zori must end well behind it. */
export async function inSession(world, options, run) {
  const editor = new Editor(world, options);
  try {
    await editor.initialize();
    const opened = await editor.open();
    await run(editor, opened.sessionId, opened);
    const code = await editor.end();
    if (code !== 0) throw new Error(`zori ended with ${code}`);
  } finally {
    editor.process.kill("SIGKILL");
  }
}

/** Runs a case with an editor to which nothing was said yet. */
export async function withEditor(world, options, run) {
  const editor = new Editor(world, options);
  try {
    await run(editor);
  } finally {
    editor.process.kill("SIGKILL");
  }
}

/** Returns the error of a request that must fail, as one text with its code and data. */
export async function refused(promise) {
  let answer;
  try {
    answer = await promise;
  } catch (error) {
    return { code: error.code, words: `${error.message} ${JSON.stringify(error.data)}` };
  }
  throw new Error(`no error; the answer was ${JSON.stringify(answer)}`);
}
