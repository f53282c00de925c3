// Beginning, prompts and answers.

import { PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

import { body, equal, failure, holds, text, until } from "../conform.mjs";
import { inSession, refused, withEditor } from "./_editor.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export async function howItBegins(world) {
  await withEditor(world, {}, async (editor) => {
    const { protocolVersion, agentInfo, agentCapabilities } = await editor.initialize();
    const { image, embeddedContext } = agentCapabilities.promptCapabilities;
    equal([protocolVersion, agentInfo.name], [PROTOCOL_VERSION, "zori"]);
    equal([agentCapabilities.loadSession, image, embeddedContext], [true, true, true]);
  });
}

export async function aVersionFromTheFuture(world) {
  await withEditor(world, {}, async (editor) => {
    equal((await editor.initialize(PROTOCOL_VERSION + 41)).protocolVersion, PROTOCOL_VERSION);
  });
}

export async function anAnswerInPieces(world) {
  await world.script(text("Hello you there."));
  await inSession(world, {}, async (editor, id) => {
    equal(await editor.ask(id, "Hi"), "end_turn");
    equal(editor.told(), ["text Hello you there."]);
    const pieces = editor.updates.filter(({ update }) => update.sessionUpdate === "agent_message_chunk");
    equal(pieces.map(({ update }) => update.content.text), ["Hello ", "you ", "there."]);
  });
}

export async function thePiecesComeAtOnce(world) {
  await world.script(text("Hello you", { hold: true }));
  await inSession(world, {}, async (editor, id) => {
    const asking = editor.ask(id, "Hi");
    await until(() => editor.told().includes("text Hello you"));
    await world.open();
    equal(await asking, "end_turn");
  });
}

export async function thoughts(world) {
  const thinking = { type: "thinking", thinking: "Hm, well.", signature: "sig" };
  await world.script({ content: [thinking, { type: "text", text: "Yes." }] });
  await inSession(world, {}, async (editor, id) => {
    await editor.ask(id, "Sure?");
    equal(editor.told(), ["thought Hm, well.", "text Yes."]);
  });
}

export async function everyKindOfPrompt(world) {
  await world.script(text("Seen."));
  await inSession(world, {}, async (editor, id) => {
    await editor.ask(id, [
      { type: "text", text: "Look" },
      { type: "image", data: PIXEL, mimeType: "image/png" },
      { type: "resource", resource: { uri: "file:///x/notes.md", text: "the secret is 42" } },
      { type: "resource_link", uri: `file://${world.work}/main.rs`, name: "main.rs" },
    ]);
  });
  const [request] = await world.requests();
  const images = request.messages.at(-1).content.filter((block) => block.type === "image");
  equal(images.map((block) => block.source.data), [PIXEL]);
  const missing = ["Look", "the secret is 42", "notes.md", "main.rs"].filter((part) => !body(request).includes(part));
  equal(missing, [], "what the model was not told");
}

export async function severalTurnsAndTwoSessions(world) {
  await world.script({ when: "to the second", ...text("Two.") }, text("One."), text("Again."));
  await inSession(world, {}, async (editor, first) => {
    const { sessionId: second } = await editor.open();
    await Promise.all([editor.ask(first, "to the first"), editor.ask(second, "to the second")]);
    equal([editor.told(first), editor.told(second)], [["text One."], ["text Two."]]);
    await editor.ask(first, "more");
  });
  const last = (await world.requests()).at(-1);
  equal(last.messages.map((message) => message.role), ["user", "assistant", "user"]);
}

export async function aKeyThatIsRefused(world) {
  await world.script(failure(401, "authentication_error", "invalid x-api-key"), text("Here."));
  await inSession(world, {}, async (editor, id) => {
    const error = await refused(editor.ask(id, "Hi"));
    equal(error.code, -32000, `the code of ${error.words}`);
    holds(error.words.includes("invalid x-api-key"), `the error is ${error.words}`);
    equal(await editor.ask(id, "Again"), "end_turn");
  });
}

export async function aMethodNobodyKnows(world) {
  await world.script(text("Still here."));
  await inSession(world, {}, async (editor, id) => {
    equal((await refused(editor.agent.request("no/such/method", {}))).code, -32601);
    equal(await editor.ask(id, "Hi"), "end_turn");
  });
}

export async function aSessionNobodyKnows(world) {
  await inSession(world, {}, async (editor) => {
    const error = await refused(editor.ask("no-such-session", "Hi"));
    holds(error.words.includes("no-such-session"), `the error is ${error.words}`);
  });
}
