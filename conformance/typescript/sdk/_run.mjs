// The Claude Agent SDK for TypeScript, used as its documentation uses it.

import { query } from "@anthropic-ai/claude-agent-sdk";

import { ZORI } from "../conform.mjs";

export const MODEL = "claude-haiku-4-5";
// Tools whose result is the same whoever runs them; the others say it in words of their own.
const PLAIN = /^(Bash$|mcp__)/;

/** The options of a case, with zori in the place of the other executable. */
export function options(world, more = {}) {
  const { env, ...rest } = more;
  return { pathToClaudeCodeExecutable: ZORI, cwd: world.work, env: { ...world.env, ...env }, model: MODEL, ...rest };
}

/** Returns all messages of a query. */
export async function ask(prompt, options) {
  const messages = [];
  for await (const message of query({ prompt, options })) messages.push(message);
  return messages;
}

/** Returns the messages of a query that fails, and the error. */
export async function askInVain(prompt, options) {
  const messages = [];
  try {
    for await (const message of query({ prompt, options })) messages.push(message);
  } catch (error) {
    return [messages, error];
  }
  throw new Error(`no error was thrown; the messages were ${JSON.stringify(told(messages))}`);
}

/** A stream of prompts. */
export async function* prompts(...contents) {
  for (const content of contents) yield prompt(content);
}

function prompt(content) {
  return { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
}

/** A conversation whose prompts come one by one: `say` sends one, `turn` sends one and returns what came of it. */
export class Conversation {
  #waiting = [];
  #wake = () => {};
  #over = false;

  constructor(options) {
    this.query = query({ prompt: this.#prompts(), options });
  }

  async *#prompts() {
    for (;;) {
      while (this.#waiting.length > 0) yield this.#waiting.shift();
      if (this.#over) return;
      await new Promise((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  say(content) {
    this.#waiting.push(prompt(content));
    this.#wake();
  }

  /** Reads messages up to a result, or to the first that is as wanted. */
  async until(wanted = (message) => message.type === "result") {
    const messages = [];
    for (;;) {
      const { value, done } = await this.query.next();
      if (done) throw new Error(`the stream ended after ${JSON.stringify(told(messages))}`);
      messages.push(value);
      if (wanted(value) || value.type === "result") return messages;
    }
  }

  async turn(content) {
    this.say(content);
    return this.until();
  }

  async end() {
    this.#over = true;
    this.#wake();
    for await (const message of this.query) console.error("after the end:", message.type);
  }
}

/** The last message, which is the result. */
export function result(messages) {
  const last = messages.at(-1);
  if (last?.type !== "result") throw new Error(`the last message is ${JSON.stringify(last)}`);
  return last;
}

/** The first `init`. */
export function init(messages) {
  return messages.find((message) => message.type === "system" && message.subtype === "init");
}

/** A run as one line per happening. What the SDK is told about its own state is left out. */
export function told(messages) {
  const names = new Map();
  return messages
    .filter((message) => message.subtype !== "session_state_changed")
    .flatMap((message) => lines(message, names));
}

function lines(message, names) {
  switch (message.type) {
    case "system":
      return [message.subtype];
    case "stream_event":
      return [`event ${message.event.type} ${message.event.delta?.type ?? ""}`.trim()];
    case "result": {
      const mark = message.is_error ? " (error)" : "";
      return [`end ${message.subtype}${mark}: ${message.result ?? JSON.stringify(message.errors)}`];
    }
    case "assistant":
    case "user": {
      const { content } = message.message;
      const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
      const inside = message.parent_tool_use_id === null ? "" : `[${message.parent_tool_use_id}] `;
      const who = message.type === "user" ? "user " : "";
      return blocks.map((part) => inside + who + block(part, names));
    }
    default:
      return [message.type];
  }
}

function block(part, names) {
  switch (part.type) {
    case "text":
      return `text ${part.text}`;
    case "thinking":
      return `thinking ${part.thinking}`;
    case "tool_use":
      names.set(part.id, part.name);
      return `call ${part.id} ${part.name} ${JSON.stringify(part.input)}`;
    case "tool_result": {
      const content = Array.isArray(part.content) ? part.content.map((p) => p.text ?? "").join("") : part.content ?? "";
      if (part.is_error) return `failed ${part.tool_use_id}: ${content.trim()}`;
      return `done ${part.tool_use_id}${PLAIN.test(names.get(part.tool_use_id) ?? "") ? `: ${content.trim()}` : ""}`;
    }
    default:
      return part.type;
  }
}
