// What goes wrong: refused keys, limits, servers that fail, streams that break off, wrong usage.

import { equal, failure, holds, text } from "../conform.mjs";
import { Conversation, ask, askInVain, options, result, told } from "./_run.mjs";

const ONCE = { CLAUDE_CODE_MAX_RETRIES: "1" };

/** A query whose provider fails for good. */
async function failing(world, status, word) {
  const [messages, error] = await askInVain("Hi", options(world, { env: ONCE }));
  const spoken = messages.findLast((message) => message.type === "assistant");
  equal([spoken.error, spoken.message.model], [word, "<synthetic>"]);
  const end = result(messages);
  equal([end.subtype, end.is_error, end.api_error_status], ["success", true, status]);
  holds(error.message.includes(end.result), `the error ${error.message} does not say ${end.result}`);
  return messages;
}

export async function aKeyThatIsRefused(world) {
  const refusal = failure(401, "authentication_error", "invalid x-api-key");
  await world.script(refusal, refusal);
  await failing(world, 401, "authentication_failed");
  equal((await world.requests()).length, 1, "number of requests");
}

export async function tooManyRequestsThenWell(world) {
  await world.script(failure(429, "rate_limit_error", "slow down", { "retry-after": "0" }), text("Here."));
  const messages = await ask("Hi", options(world));
  equal(told(messages), ["init", "api_retry", "text Here.", "end success: Here."]);
}

export async function aServerThatFails(world) {
  const broken = failure(500, "api_error", "boom", { "retry-after": "0" });
  await world.script(broken, broken);
  await failing(world, 500, "server_error");
}

export async function aStreamCutBeforeAWord(world) {
  await world.script(text("Never.", { cut: 1 }), text("Here."));
  const lines = told(await ask("Hi", options(world))).filter((line) => line !== "api_retry");
  equal(lines, ["init", "text Here.", "end success: Here."]);
}

export async function aStreamCutAfterWords(world) {
  await world.script(text("This is cut.", { cut: 4 }));
  const [messages] = await askInVain("Hi", options(world, { env: ONCE }));
  holds(told(messages)[1].startsWith("text This is"), `what was said before is lost: ${told(messages)}`);
  equal([result(messages).subtype, result(messages).is_error], ["success", true]);
}

export async function theNextPromptWorks(world) {
  await world.script(failure(400, "invalid_request_error", "no"), text("Here."));
  const talk = new Conversation(options(world));
  holds(result(await talk.turn("a")).is_error, "the first turn ended well");
  equal(told(await talk.turn("b")), ["init", "text Here.", "end success: Here."]);
  await talk.end();
}

export async function aFlagNobodyKnows(world) {
  const said = [];
  const chosen = options(world, { extraArgs: { "no-such-flag": null }, stderr: (line) => said.push(line) });
  const [, error] = await askInVain("Hi", chosen);
  holds(/code 2/.test(error.message), `the error is ${error.message}`);
  holds(said.join("").includes("no-such-flag"), `stderr says ${said}`);
}

export async function everythingAnSdkCanPass(world) {
  await world.script(text("Hi."));
  const chosen = options(world, {
    additionalDirectories: [world.home],
    fallbackModel: "claude-sonnet-4-5",
    settingSources: [],
    maxThinkingTokens: 2000,
    includeHookEvents: true,
    strictMcpConfig: true,
    betas: ["context-1m-2025-08-07"],
    extraArgs: { "replay-user-messages": null },
  });
  equal(told(await ask("Hi", chosen)).at(-1), "end success: Hi.");
}
