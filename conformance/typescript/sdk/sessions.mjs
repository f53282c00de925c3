// Sessions: their ids, going on with one, in another one, and those that are not there.

import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { body, equal, holds, text } from "../conform.mjs";
import { ask, askInVain, init, options, result, told } from "./_run.mjs";

export async function aSessionGoesOn(world) {
  await world.script(text("One."), text("Two."));
  const first = result(await ask("My name is Ada.", options(world))).session_id;
  const messages = await ask("What is my name?", options(world, { resume: first }));
  equal([result(messages).session_id, init(messages).session_id], [first, first]);
  const sent = body((await world.requests())[1]);
  holds(sent.includes("My name is Ada.") && sent.includes("One."), `the model was sent ${sent}`);
}

export async function theNewestSessionGoesOn(world) {
  await world.script(text("One."), text("Two."), text("Three."));
  await ask("first", options(world));
  const second = result(await ask("second", options(world))).session_id;
  equal(result(await ask("third", options(world, { continue: true }))).session_id, second);
  const sent = body((await world.requests())[2]);
  holds(sent.includes("second") && !sent.includes("first"), `the model was sent ${sent}`);
}

export async function aSessionIsForked(world) {
  await world.script(text("One."), text("Two."), text("Three."));
  const first = result(await ask("start", options(world))).session_id;
  const fork = await ask("branch", options(world, { resume: first, forkSession: true }));
  holds(result(fork).session_id !== first, "the fork has the id of the session it came from");
  await ask("again", options(world, { resume: first }));
  const [, branch, again] = (await world.requests()).map(body);
  holds(branch.includes("start") && !again.includes("branch"), `the model was sent ${branch} and ${again}`);
}

export async function anIdOfOnesOwn(world) {
  await world.script(text("Hi."));
  const sessionId = randomUUID();
  equal(result(await ask("Hi", options(world, { sessionId }))).session_id, sessionId);
}

export async function aSessionThatIsNotThere(world) {
  const missing = "00000000-0000-4000-8000-000000000000";
  const [messages, error] = await askInVain("Hi", options(world, { resume: missing }));
  const why = `No conversation found with session ID: ${missing}`;
  equal(told(messages), [`end error_during_execution (error): ["${why}"]`]);
  holds(error.message.includes(why), `the error is ${error.message}`);
}

export async function nothingIsKept(world) {
  await world.script(text("Hi."));
  equal(told(await ask("Hi", options(world, { persistSession: false }))).at(-1), "end success: Hi.");
  const folder = join(world.base, "sessions");
  equal(existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".jsonl")) : [], []);
}
