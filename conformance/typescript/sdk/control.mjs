// What a client does while a turn runs, and between turns: interrupting, asking, changing the model, giving up.

import { query } from "@anthropic-ai/claude-agent-sdk";

import { Alive, call, equal, holds, text } from "../conform.mjs";
import { Conversation, init, options, result, told } from "./_run.mjs";

const spoken = (messages) => told(messages).filter((line) => !/^(event|status)/.test(line));

export async function interruptedWhileTheAnswerComes(world) {
  await world.script(text("This is a long", { hold: true }), text("Fine."));
  const talk = new Conversation(options(world, { includePartialMessages: true }));
  talk.say("Count to a million");
  const seen = await talk.until((message) => message.event?.delta?.text === "long");
  const stopped = talk.query.interrupt();
  seen.push(...(await talk.until()));
  await stopped;
  equal(spoken(seen).slice(0, 3), ["init", "text This is a long", "user text [Request interrupted by user]"]);
  const end = result(seen);
  equal([end.subtype, end.is_error, end.terminal_reason], ["error_during_execution", true, "aborted_streaming"]);
  equal(spoken(await talk.turn("And now?")), ["init", "text Fine.", "end success: Fine."]);
  await talk.end();
}

export async function interruptedWhileACommandRuns(world) {
  const alive = new Alive(world.work);
  await world.script(call("t1", "Bash", { command: alive.command }), text("Fine."));
  const talk = new Conversation(options(world, { allowedTools: ["Bash"] }));
  talk.say("Sleep");
  const seen = await talk.until((message) => message.message?.content?.[0]?.type === "tool_use");
  await alive.started();
  const stopped = talk.query.interrupt();
  seen.push(...(await talk.until()));
  await stopped;
  const lines = told(seen);
  holds(lines[2].startsWith("user failed t1:"), `the result is ${lines[2]}`);
  equal(lines[3], "user text [Request interrupted by user for tool use]");
  equal([result(seen).subtype, result(seen).terminal_reason], ["error_during_execution", "aborted_tools"]);
  await alive.ended();
  equal(told(await talk.turn("And now?")), ["init", "text Fine.", "end success: Fine."]);
  await talk.end();
}

export async function theModelIsChanged(world) {
  await world.script(text("One."), text("Two."));
  const talk = new Conversation(options(world));
  await talk.turn("a");
  await talk.query.setModel("claude-sonnet-4-5");
  const second = await talk.turn("b");
  await talk.end();
  const models = (await world.requests()).map((request) => request.model);
  equal(models, ["claude-haiku-4-5", "claude-sonnet-4-5"]);
  equal(init(second).model, "claude-sonnet-4-5");
}

export async function promptsSentWhileATurnRuns(world) {
  await world.script(text("One.", { hold: true }), text("Two."));
  const talk = new Conversation(options(world));
  talk.say("a");
  await world.asked(1);
  talk.say("b");
  await world.open();
  const seen = [...(await talk.until()), ...(await talk.until())];
  await talk.end();
  equal(told(seen), ["init", "text One.", "end success: One.", "init", "text Two.", "end success: Two."]);
}

export async function whatTheServerCanDo(world) {
  await world.script(text("Hi."));
  const talk = new Conversation(options(world));
  const commands = await talk.query.supportedCommands();
  const models = await talk.query.supportedModels();
  await talk.query.accountInfo();
  await talk.turn("Hi");
  await talk.end();
  holds(Array.isArray(commands) && Array.isArray(models), `${JSON.stringify([commands, models])}`);
}

export async function aQueryThatIsGivenUp(world) {
  await world.script(text("This is a long", { hold: true }));
  const abortController = new AbortController();
  const messages = [];
  try {
    for await (const message of query({ prompt: "Hi", options: options(world, { abortController }) })) {
      messages.push(message);
      if (message.subtype === "init") abortController.abort();
    }
  } catch (error) {
    holds(/abort/i.test(`${error.name} ${error.message}`), `the error is ${error}`);
    return;
  }
  throw new Error(`the query ended well: ${told(messages)}`);
}
