// Sessions that go on, modes, models and commands.

import { writeFileSync } from "node:fs";

import { methods } from "@agentclientprotocol/sdk";

import { body, call, equal, holds, text, until } from "../conform.mjs";
import { inSession, refused, withEditor } from "./_editor.mjs";

export async function aSessionIsLoaded(world) {
  writeFileSync(world.path("a.txt"), "content\n");
  await world.script(call("t1", "read", { path: "a.txt" }), text("It says content."), text("Yes."));
  let sessionId;
  await inSession(world, {}, async (editor, id) => {
    sessionId = id;
    await editor.ask(id, "Read it");
  });
  await withEditor(world, {}, async (editor) => {
    await editor.initialize();
    await editor.agent.request(methods.agent.session.load, { sessionId, cwd: world.work, mcpServers: [] });
    const lines = editor.told(sessionId);
    equal([lines[0], lines.at(-1)], ["user Read it", "text It says content."]);
    holds(lines.includes("call #1 read"), `the call is not told: ${lines}`);
    equal(await editor.ask(sessionId, "Sure?"), "end_turn");
  });
  const sent = body((await world.requests())[2]);
  holds(sent.includes("Read it") && sent.includes("It says content."), `the model was sent ${sent}`);
}

export async function aSessionThatIsNotThere(world) {
  await inSession(world, {}, async (editor) => {
    const params = { sessionId: "missing-1", cwd: world.work, mcpServers: [] };
    const error = await refused(editor.agent.request(methods.agent.session.load, params));
    holds(error.words.includes("missing-1"), `the error is ${error.words}`);
  });
}

export async function sessionsAreListed(world) {
  await world.script(text("Hi."));
  await inSession(world, {}, async (editor, id) => {
    await editor.ask(id, "Hello");
    const { sessions } = await editor.agent.request(methods.agent.session.list, { cwd: world.work });
    equal(sessions.map(({ sessionId, cwd }) => [sessionId, cwd]), [[id, world.work]]);
  });
}

export async function aSessionIsDeleted(world) {
  await world.script(text("Hi."));
  await inSession(world, {}, async (editor, sessionId) => {
    await editor.ask(sessionId, "Hello");
    // Twice is once: what is gone need not be there.
    await editor.agent.request(methods.agent.session.delete, { sessionId });
    await editor.agent.request(methods.agent.session.delete, { sessionId });
    equal((await editor.agent.request(methods.agent.session.list, {})).sessions, []);
  });
}

export async function theModes(world) {
  await world.script(call("t1", "write", { path: "a.txt", content: "a" }), text("Done."));
  await inSession(world, {}, async (editor, sessionId, { modes }) => {
    equal(modes.currentModeId, "default");
    const { id: modeId } = modes.availableModes.find((mode) => /edit/i.test(mode.id));
    await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId });
    await editor.ask(sessionId, "Write");
    equal([editor.asked, editor.calls()[0].status], [[], "completed"]);
    const nonsense = editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: "nonsense" });
    holds((await refused(nonsense)).words.includes("nonsense"), "the error does not name the mode");
  });
}

export async function theModels(world) {
  await world.script(text("Hi."));
  let wanted;
  await inSession(world, {}, async (editor, sessionId, { configOptions }) => {
    const models = configOptions.find((option) => option.category === "model");
    wanted = models.options.map((option) => option.value).find((value) => value.includes("sonnet"));
    const params = { sessionId, configId: models.id, value: wanted };
    await editor.agent.request(methods.agent.session.setConfigOption, params);
    await editor.ask(sessionId, "Hi");
  });
  equal((await world.requests())[0].model, wanted.split(":").at(-1));
}

export async function theCommands(world) {
  await inSession(world, {}, async (editor) => {
    const lists = () =>
      editor.updates.filter(({ update }) => update.sessionUpdate === "available_commands_update");
    await until(() => lists().length > 0);
    const names = lists()[0].update.availableCommands.map((command) => command.name);
    holds(names.includes("compact"), `the commands are ${names}`);
  });
}
