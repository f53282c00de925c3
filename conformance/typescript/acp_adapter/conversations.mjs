// `claude-agent-acp`: an editor speaks ACP to it, and it speaks the Claude protocol to zori.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { body, call, equal, failure, holds, text, toolResults, ZORI } from "../conform.mjs";
import { Editor } from "../acp/_editor.mjs";

const PACKAGE = "@agentclientprotocol/claude-agent-acp";
const ADAPTER = join(dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`)), "dist/index.js");

/** Runs a case with an editor that has one session at the adapter. */
async function inSession(world, options, run) {
  const env = { CLAUDE_CODE_EXECUTABLE: ZORI, ANTHROPIC_MODEL: "claude-haiku-4-5", CLAUDE_CONFIG_DIR: join(world.home, "config") };
  const editor = new Editor(world, { ...options, agent: { command: [process.execPath, ADAPTER], env } });
  try {
    await editor.initialize();
    const opened = await editor.open();
    await run(editor, opened.sessionId);
  } finally {
    editor.process.kill("SIGKILL");
  }
}

/** What was said, and what became of calls. */
function said(editor) {
  return editor.told().filter((line) => line.startsWith("text "));
}

export async function a_prompt_and_its_answer(world) {
  await world.script(text("Four."));
  await inSession(world, {}, async (editor, session) => {
    equal(await editor.ask(session, "What is 2 + 2?"), "end_turn");
    equal(said(editor), ["text Four."]);
  });
}

export async function a_call_that_is_allowed(world) {
  await world.script(call("t1", "Write", { file_path: world.path("new.txt"), content: "hello\n" }), text("Done."));
  await inSession(world, { answer: "allow_once" }, async (editor, session) => {
    equal(await editor.ask(session, "go"), "end_turn");
    equal(editor.asked.length, 1);
    equal(readFileSync(world.path("new.txt"), "utf8"), "hello\n");
    equal(editor.calls().map(({ status }) => status), ["completed"]);
    equal(said(editor), ["text Done."]);
  });
}

export async function a_call_that_is_refused(world) {
  await world.script(call("t1", "Write", { file_path: world.path("new.txt"), content: "hello\n" }), text("Too bad."));
  await inSession(world, { answer: "reject_once" }, async (editor, session) => {
    await editor.ask(session, "go");
    equal(editor.asked.length, 1);
    holds(!existsSync(world.path("new.txt")), "the file was written all the same");
  });
}

export async function a_call_whose_result_the_model_reads(world) {
  await world.script(call("t1", "Bash", { command: "echo hi" }), text("It said hi."));
  await inSession(world, { answer: "allow_once" }, async (editor, session) => {
    equal(await editor.ask(session, "go"), "end_turn");
    equal(toolResults((await world.requests())[1]), [["t1", false, "hi"]]);
  });
}

export async function several_turns(world) {
  await world.script(text("One."), text("Two."));
  await inSession(world, {}, async (editor, session) => {
    equal(await editor.ask(session, "My name is Ada."), "end_turn");
    equal(await editor.ask(session, "What is my name?"), "end_turn");
    holds(body((await world.requests())[1]).includes("My name is Ada."), "the second turn knows nothing of the first");
  });
}

export async function a_provider_that_fails(world) {
  await world.script(failure(400, "invalid_request_error", "the model is on holiday"));
  await inSession(world, {}, async (editor, session) => {
    let words;
    try {
      words = `${await editor.ask(session, "hello")} ${said(editor)}`;
    } catch (error) {
      words = `${error.message} ${JSON.stringify(error.data)}`;
    }
    holds(words.includes("the model is on holiday"), `it said ${words}`);
  });
}
