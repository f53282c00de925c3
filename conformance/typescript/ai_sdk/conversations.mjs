// `ai-sdk-provider-claude-code`: programs written with the AI SDK get zori as their model.

import { generateText, streamText } from "ai";
import { createClaudeCode } from "ai-sdk-provider-claude-code";
import { existsSync, readFileSync } from "node:fs";

import { body, call, equal, failure, holds, text, ZORI } from "../conform.mjs";

/** The model of a case. */
function model(world, more = {}) {
  const provider = createClaudeCode({
    defaultSettings: { pathToClaudeCodeExecutable: ZORI, cwd: world.work, env: world.env, ...more },
  });
  return provider("claude-haiku-4-5");
}

export async function a_prompt_and_its_answer(world) {
  await world.script(text("Four."));
  const answer = await generateText({ model: model(world), prompt: "What is 2 + 2?" });
  equal([answer.text, answer.finishReason], ["Four.", "stop"]);
  holds(body((await world.requests())[0]).includes("What is 2 + 2?"), "the model was asked something else");
}

export async function an_answer_in_pieces(world) {
  await world.script(text("One two three."));
  const { textStream } = streamText({ model: model(world), prompt: "count" });
  let words = "";
  for await (const piece of textStream) words += piece;
  equal(words, "One two three.");
}

export async function a_call_that_is_allowed(world) {
  await world.script(call("t1", "Write", { file_path: world.path("new.txt"), content: "hello\n" }), text("Done."));
  const answer = await generateText({ model: model(world, { permissionMode: "acceptEdits" }), prompt: "go" });
  equal(answer.text, "Done.");
  equal(readFileSync(world.path("new.txt"), "utf8"), "hello\n");
}

export async function a_call_that_is_denied(world) {
  await world.script(call("t1", "Write", { file_path: world.path("new.txt"), content: "hello\n" }), text("Too bad."));
  const canUseTool = async () => ({ behavior: "deny", message: "not on my machine" });
  const settings = { canUseTool, streamingInput: "always" };
  const answer = await generateText({ model: model(world, settings), prompt: "go" });
  equal(answer.text, "Too bad.");
  holds(body((await world.requests())[1]).includes("not on my machine"), "the model does not know why");
  holds(!existsSync(world.path("new.txt")), "the file was written all the same");
}

export async function a_session_goes_on(world) {
  await world.script(text("One."), text("Two."));
  const first = await generateText({ model: model(world), prompt: "My name is Ada." });
  const resume = first.providerMetadata["claude-code"].sessionId;
  await generateText({ model: model(world, { resume }), prompt: "What is my name?" });
  holds(body((await world.requests())[1]).includes("My name is Ada."), "the session does not know its past");
}

export async function a_provider_that_refuses_the_key(world) {
  await world.script(failure(401, "authentication_error", "invalid x-api-key"));
  let words;
  try {
    words = `no error: ${(await generateText({ model: model(world), prompt: "hello", maxRetries: 0 })).text}`;
  } catch (error) {
    words = `failed: ${error.message}`;
  }
  holds(words.startsWith("failed: "), words);
}
