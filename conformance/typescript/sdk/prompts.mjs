// Prompts and answers: one string, a stream, several turns, pieces, thinking, images, system prompts, other makers.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { body, equal, holds, systemText, text } from "../conform.mjs";
import { Conversation, MODEL, ask, init, options, prompts, result, told } from "./_run.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export async function aStringAsPrompt(world) {
  await world.script(text("Hello there."));
  const messages = await ask("What is 2 + 2?", options(world));
  equal(told(messages), ["init", "text Hello there.", "end success: Hello there."]);
  holds(body((await world.requests())[0]).includes("What is 2 + 2?"), "the prompt did not arrive");
}

export async function theResultHasFigures(world) {
  await world.script(text("Four.", { usage: { input_tokens: 1000, output_tokens: 200 } }));
  const end = result(await ask("What is 2 + 2?", options(world)));
  equal([end.usage.input_tokens, end.usage.output_tokens], [1000, 200]);
  equal([end.usage.cache_creation_input_tokens, end.usage.cache_read_input_tokens], [0, 0]);
  equal([end.num_turns, end.stop_reason, end.is_error, end.permission_denials], [1, "end_turn", false, []]);
  // 1000 tokens at 1 dollar and 200 at 5 dollars a million.
  equal([end.total_cost_usd.toFixed(6), end.modelUsage[MODEL].costUSD.toFixed(6)], ["0.002000", "0.002000"]);
  holds(end.duration_ms >= end.duration_api_ms, `${end.duration_ms} ms, ${end.duration_api_ms} ms in calls`);
}

export async function whatInitSays(world) {
  await world.script(text("Hi."));
  const messages = await ask("Hi", options(world));
  const said = init(messages);
  equal([said.cwd, said.model, said.permissionMode], [world.work, MODEL, "default"]);
  equal(["Read", "Write", "Edit", "Bash", "Glob", "Grep"].filter((name) => !said.tools.includes(name)), []);
  equal(said.session_id, result(messages).session_id);
  equal(messages.filter((message) => typeof message.uuid !== "string").map((m) => m.type), [], "messages without uuid");
}

export async function aStreamOfPrompts(world) {
  await world.script(text("One."), text("Two."));
  const messages = await ask(prompts("first", "second"), options(world));
  equal(told(messages), ["init", "text One.", "end success: One.", "init", "text Two.", "end success: Two."]);
  holds(body((await world.requests())[1]).includes("One."), "the second prompt does not know of the first");
}

export async function severalTurns(world) {
  await world.script(text("Paris."), text("Two million."));
  const talk = new Conversation(options(world));
  equal(told(await talk.turn("Capital of France?")), ["init", "text Paris.", "end success: Paris."]);
  equal(told(await talk.turn("How many people?")), ["init", "text Two million.", "end success: Two million."]);
  await talk.end();
  const roles = (await world.requests())[1].messages.map((message) => message.role);
  equal(roles, ["user", "assistant", "user"]);
}

export async function piecesOfAnAnswer(world) {
  await world.script(text("Hello you."));
  const messages = await ask("Hi", options(world, { includePartialMessages: true }));
  equal(
    told(messages).filter((line) => line !== "status"),
    [
      "init",
      "event message_start",
      "event content_block_start",
      "event content_block_delta text_delta",
      "event content_block_delta text_delta",
      "text Hello you.",
      "event content_block_stop",
      "event message_delta",
      "event message_stop",
      "end success: Hello you.",
    ],
  );
}

export async function thinkingBeforeTheAnswer(world) {
  await world.script({
    content: [
      { type: "thinking", thinking: "Hm, well.", signature: "sig" },
      { type: "text", text: "Yes." },
    ],
  });
  equal(told(await ask("Sure?", options(world))), ["init", "thinking Hm, well.", "text Yes.", "end success: Yes."]);
}

export async function anImageInThePrompt(world) {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } };
  await world.script(text("A dot."));
  const messages = await ask(prompts([{ type: "text", text: "What is it?" }, image]), options(world));
  equal(told(messages), ["init", "text A dot.", "end success: A dot."]);
  const sent = (await world.requests())[0].messages.at(-1).content;
  equal(sent.filter((part) => part.type === "image").map((part) => part.source.data), [PIXEL]);
}

const PRESET = { type: "preset", preset: "claude_code" };

/** The system prompt the model gets; zori's own, which the preset stands for, is "Be the house agent.". */
async function systemPrompt(world, systemPrompt) {
  mkdirSync(world.base);
  writeFileSync(join(world.base, "config.toml"), 'system_prompt = "Be the house agent."\n');
  await world.script(text("Hi."));
  await ask("Hi", options(world, { systemPrompt }));
  return systemText((await world.requests())[0]);
}

export async function aSystemPromptOfOnesOwn(world) {
  equal(await systemPrompt(world, "You are a pirate."), "You are a pirate.");
}

export async function thePresetAsSystemPrompt(world) {
  equal(await systemPrompt(world, PRESET), "Be the house agent.");
}

export async function aSystemPromptAddedToThePreset(world) {
  const said = await systemPrompt(world, { ...PRESET, append: "End with a fun fact." });
  equal(said.split("\n\n"), ["Be the house agent.", "End with a fun fact."]);
}

export async function noSystemPrompt(world) {
  equal(await systemPrompt(world, undefined), "");
}

export async function aModelOfAnotherMaker(world) {
  await world.script(text("Hello from elsewhere."));
  const env = { OPENAI_BASE_URL: `${world.url}/v1`, OPENAI_API_KEY: "other-key-0123456789" };
  const messages = await ask("Hi", options(world, { model: "openai-chat:gpt-5.4-mini", env }));
  equal(told(messages), ["init", "text Hello from elsewhere.", "end success: Hello from elsewhere."]);
  const { usage } = result(messages);
  equal([usage.input_tokens, usage.output_tokens], [12, 9]);
}
