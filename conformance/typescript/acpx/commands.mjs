// `acpx`: people and scripts type prompts, and it speaks ACP to zori.

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { body, call, equal, failure, holds, text, ZORI } from "../conform.mjs";

const require = createRequire(import.meta.url);
const MANIFEST = join(dirname(require.resolve("acpx")), "../package.json");
const ACPX = join(dirname(MANIFEST), JSON.parse(readFileSync(MANIFEST, "utf8")).bin.acpx);

/** Runs `acpx` with zori as its agent; returns its exit code and both outputs. */
function acpx(world, ...args) {
  const agent = `${ZORI} acp --model claude-haiku-4-5`;
  const words = [ACPX, "--agent", agent, "--cwd", world.work, ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, words, { cwd: world.work, env: world.env }, (error, out, err) => {
      resolve({ code: error?.code ?? 0, out: out.trim(), err: err.trim() });
    });
  });
}

export async function a_prompt_and_its_answer(world) {
  await world.script(text("Four."));
  const { code, out } = await acpx(world, "--format", "quiet", "exec", "What is 2 + 2?");
  equal([code, out], [0, "Four."]);
}

export async function a_call_that_is_allowed(world) {
  await world.script(call("t1", "write", { path: "new.txt", content: "hello\n" }), text("Done."));
  const { code, out, err } = await acpx(world, "--approve-all", "--format", "quiet", "exec", "go");
  equal([code, out], [0, "Done."], err);
  equal(readFileSync(world.path("new.txt"), "utf8"), "hello\n");
}

export async function a_call_that_is_denied(world) {
  await world.script(call("t1", "write", { path: "new.txt", content: "hello\n" }), text("Too bad."));
  await acpx(world, "--deny-all", "--format", "quiet", "exec", "go");
  holds(!existsSync(world.path("new.txt")), "the file was written all the same");
}

export async function a_session_goes_on(world) {
  await world.script(text("One."), text("Two."));
  const made = await acpx(world, "sessions", "new");
  equal(made.code, 0, made.err);
  for (const words of ["My name is Ada.", "What is my name?"]) {
    const { code, err } = await acpx(world, "--ttl", "60", "--format", "quiet", words);
    equal(code, 0, err);
  }
  // It leaves a process behind that waits for more.
  await acpx(world, "sessions", "close");
  holds(body((await world.requests())[1]).includes("My name is Ada."), "the session does not know its past");
}

export async function a_provider_that_fails(world) {
  await world.script(failure(400, "invalid_request_error", "the model is on holiday"));
  const { code, out, err } = await acpx(world, "exec", "hello");
  holds(code !== 0 && `${out} ${err}`.includes("the model is on holiday"), `${code}: ${out} ${err}`);
}
