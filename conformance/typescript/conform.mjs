// What every case has: a world of its own, a model that says what the case wants, and a way to compare.
//
// `drive.mjs` finds the cases and runs them. The replies are described in `xtask/src/conformance/stage.rs`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { constants, mkdirSync, mkdtempSync, openSync, readSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export const ZORI = process.env.CONFORMANCE_ZORI;

/** A case's own folders, environment and model. */
export class World {
  constructor(name) {
    this.url = `${process.env.CONFORMANCE_MODEL}/case/${name}`;
    const top = realpathSync(mkdtempSync(join(tmpdir(), "case-")));
    this.work = join(top, "work");
    this.home = join(top, "home");
    this.base = join(top, "base");
    for (const folder of [this.work, this.home]) mkdirSync(folder);
    this.env = {
      PATH: process.env.PATH,
      LANG: "C.UTF-8",
      TMPDIR: process.env.TMPDIR,
      HOME: this.home,
      ZORI_HOME: this.base,
      ANTHROPIC_BASE_URL: this.url,
      ANTHROPIC_API_KEY: "test-key-0123456789",
    };
  }

  /** Returns the path of a file in the working directory. */
  path(name) {
    return join(this.work, name);
  }

  /** Adds replies of the model. */
  async script(...replies) {
    await this.#call("script", replies);
  }

  /** Lets a reply go on that holds. */
  async open() {
    await this.#call("open", null);
  }

  /** Returns what the model was asked so far. */
  async requests() {
    return this.#call("requests", null);
  }

  /** Waits until the model was asked that many times. */
  async asked(count) {
    await until(async () => (await this.requests()).length >= count);
  }

  async #call(what, body) {
    const answer = await fetch(`${this.url}/${what}`, { method: "POST", body: JSON.stringify(body) });
    return answer.json();
  }
}

/** Waits for a condition; the case's own time limit is the bound. */
export async function until(condition) {
  while (!(await condition())) await sleep(20);
}

/** A command that runs for a minute, and a pipe that tells whether any process of it is left. */
export class Alive {
  command = "exec 3> alive; echo started >&3; sleep 60";
  #pipe;

  constructor(folder) {
    execFileSync("mkfifo", [join(folder, "alive")]);
    this.#pipe = openSync(join(folder, "alive"), constants.O_RDONLY | constants.O_NONBLOCK);
  }

  /** Returns how many bytes were written, 0 when nobody is there to write, and nothing when somebody may. */
  #read() {
    try {
      return readSync(this.#pipe, Buffer.alloc(100));
    } catch (error) {
      if (error.code === "EAGAIN") return undefined;
      throw error;
    }
  }

  async started() {
    await until(() => this.#read() > 0);
  }

  async ended() {
    await until(() => this.#read() === 0);
  }
}

/** A reply that is a text. */
export function text(words, more = {}) {
  return { content: [{ type: "text", text: words }], ...more };
}

/** A reply that calls a tool. */
export function call(id, name, input, more = {}) {
  return { content: [toolUse(id, name, input)], ...more };
}

export function toolUse(id, name, input) {
  return { type: "tool_use", id, name, input };
}

/** An HTTP error. */
export function failure(status, kind, message, headers = {}) {
  return { status, kind, message, headers };
}

/** Compares whole values. */
export function equal(actual, wanted, what = "value") {
  try {
    assert.deepEqual(actual, wanted);
  } catch {
    throw new Error(`${what}\n  is     ${show(actual)}\n  wanted ${show(wanted)}`);
  }
}

/** States that something is so; `what` says what should have been, and what was. */
export function holds(condition, what) {
  if (!condition) throw new Error(what);
}

function show(value) {
  return Array.isArray(value)
    ? `[${value.map((entry) => `\n           ${JSON.stringify(entry)}`).join("")}]`
    : JSON.stringify(value);
}

/** The system prompt of a request, whichever way it was sent. */
export function systemText(request) {
  const system = request.system ?? "";
  return typeof system === "string" ? system : system.map((block) => block.text).join("\n");
}

/** The tool results in the last message of a request: id, whether it failed, text. */
export function toolResults(request) {
  const blocks = request.messages.at(-1).content;
  return (Array.isArray(blocks) ? blocks : [])
    .filter((block) => block.type === "tool_result")
    .map((block) => {
      const parts = Array.isArray(block.content) ? block.content.map((part) => part.text ?? "").join("") : block.content;
      return [block.tool_use_id, Boolean(block.is_error), (parts ?? "").trim()];
    });
}

/** A request's conversation as one text, to look for words in it. */
export function body(request) {
  return JSON.stringify(request.messages);
}
