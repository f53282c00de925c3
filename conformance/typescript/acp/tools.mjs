// Calls: what the editor is shown, whom it is asked about, what it does itself.

import { existsSync, readFileSync, writeFileSync } from "node:fs";

import { Alive, call, equal, holds, text, toolResults, until } from "../conform.mjs";
import { inSession } from "./_editor.mjs";

export async function aFileIsRead(world) {
  writeFileSync(world.path("a.txt"), "content\n");
  await world.script(call("t1", "read", { path: "a.txt" }), text("Done."));
  await inSession(world, {}, async (editor, id) => {
    await editor.ask(id, "Read it");
    const lines = editor.told();
    equal([lines[0], ...lines.slice(-2)], ["call #1 read", "#1 completed", "text Done."]);
    const [told] = editor.calls();
    equal(told.locations.map(({ path }) => path), [world.path("a.txt")]);
    equal([told.rawInput, editor.asked], [{ path: "a.txt" }, []]);
  });
}

export async function anEditIsShownAsADiff(world) {
  writeFileSync(world.path("a.txt"), "one\ntwo\n");
  await world.script(call("t1", "edit", { path: "a.txt", old: "two", new: "three" }), text("Done."));
  await inSession(world, { answer: "allow_once" }, async (editor, id) => {
    await editor.ask(id, "Edit it");
    equal(readFileSync(world.path("a.txt"), "utf8"), "one\nthree\n");
    const [told] = editor.calls();
    const diffs = told.content.filter((part) => part.type === "diff");
    equal(diffs.map(({ path }) => path), [world.path("a.txt")]);
    holds(diffs[0].oldText.includes("two") && diffs[0].newText.includes("three"), `the diff is ${JSON.stringify(diffs)}`);
    equal([told.kind, told.status], ["edit", "completed"]);
  });
}

export async function theQuestionComesBeforeTheCallRuns(world) {
  await world.script(call("t1", "bash", { command: "touch ran" }), text("Too bad."));
  await inSession(world, { answer: "reject_once" }, async (editor, id) => {
    equal(await editor.ask(id, "Run it"), "end_turn");
    const [{ toolCall, options }] = editor.asked;
    const kinds = options.map((option) => option.kind);
    equal(["allow_once", "allow_always", "reject_once"].filter((kind) => !kinds.includes(kind)), [], "missing options");
    equal(toolCall.toolCallId, editor.calls()[0].toolCallId);
    holds(!existsSync(world.path("ran")), "the command ran all the same");
    equal(editor.told().slice(-2), ["#1 failed", "text Too bad."]);
  });
}

export async function allowedForGood(world) {
  await world.script(
    call("t1", "write", { path: "a.txt", content: "1" }),
    call("t2", "write", { path: "a.txt", content: "2" }),
    text("Done."),
  );
  await inSession(world, { answer: "allow_always" }, async (editor, id) => {
    await editor.ask(id, "Write");
    equal([editor.asked.length, readFileSync(world.path("a.txt"), "utf8")], [1, "2"]);
  });
}

export async function aCommandIsWatched(world) {
  const waits = "echo so far; until [ -e go ]; do sleep 0.05; done; echo done";
  await world.script(call("t1", "bash", { command: waits }), text("Fine."));
  await inSession(world, { answer: "allow_once" }, async (editor, id) => {
    const asking = editor.ask(id, "Run it");
    // What is asked about the call has the command in it, too.
    const shown = () => editor.calls()[0]?.content?.[0]?.content?.text ?? "";
    await until(() => shown().startsWith("so far\n"));
    equal(editor.calls()[0].status, "in_progress");
    writeFileSync(world.path("go"), "");
    equal(await asking, "end_turn");
    equal([editor.calls()[0].status, shown()], ["completed", "so far\ndone\n"]);
  });
}

export async function aPlan(world) {
  const todos = [
    { content: "look", status: "completed" },
    { content: "write", status: "in_progress" },
  ];
  await world.script(call("t1", "todo_write", { todos }), text("Done."));
  await inSession(world, {}, async (editor, id) => {
    await editor.ask(id, "Plan it");
    const plans = editor.told().filter((line) => line.startsWith("plan"));
    equal(plans, ["plan look (completed), write (in_progress)"]);
  });
}

export async function cancelledWhileTheAnswerComes(world) {
  await world.script(text("This is a long", { hold: true }), text("Fine."));
  await inSession(world, {}, async (editor, id) => {
    const asking = editor.ask(id, "Count");
    await until(() => editor.told().includes("text This is a long"));
    await editor.cancel(id);
    equal(await asking, "cancelled");
    equal(await editor.ask(id, "And now?"), "end_turn");
  });
}

export async function cancelledWhileACommandRuns(world) {
  const alive = new Alive(world.work);
  await world.script(call("t1", "bash", { command: alive.command }), text("Fine."));
  await inSession(world, { answer: "allow_once" }, async (editor, id) => {
    const asking = editor.ask(id, "Sleep");
    await alive.started();
    await editor.cancel(id);
    equal(await asking, "cancelled");
    equal(editor.calls()[0].status, "failed");
    await alive.ended();
  });
}

export async function cancelledWhileAQuestionWaits(world) {
  let give;
  const answered = new Promise((resolve) => {
    give = resolve;
  });
  await world.script(call("t1", "bash", { command: "touch ran" }), text("Fine."));
  await inSession(world, { answer: () => answered }, async (editor, id) => {
    const asking = editor.ask(id, "Run it");
    await until(() => editor.asked.length === 1);
    await editor.cancel(id);
    give("cancelled");
    equal(await asking, "cancelled");
    holds(!existsSync(world.path("ran")), "the command ran all the same");
  });
}

export async function theEditorsFiles(world) {
  const path = world.path("a.txt");
  writeFileSync(path, "on disk\n");
  const buffers = { [path]: "not saved yet\n" };
  const fs = {
    read: ({ path }) => ({ content: buffers[path] }),
    write: ({ path, content }) => {
      buffers[path] = content;
    },
  };
  await world.script(
    call("t1", "read", { path: "a.txt" }),
    call("t2", "edit", { path: "a.txt", old: "not saved", new: "changed" }),
    text("Done."),
  );
  await inSession(world, { answer: "allow_once", fs }, async (editor, id) => {
    await editor.ask(id, "Edit it");
  });
  const [, , words] = toolResults((await world.requests())[1])[0];
  holds(words.includes("not saved yet"), `the model was told ${words}`);
  equal([buffers, readFileSync(path, "utf8")], [{ [path]: "changed yet\n" }, "on disk\n"]);
}

export async function theEditorRunsCommands(world) {
  const log = [];
  const terminal = {
    create: ({ command, args, cwd }) => {
      log.push(["create", [command, ...(args ?? [])].join(" ").includes("make all"), cwd]);
      return { terminalId: "term-1" };
    },
    output: () => ({ output: "from the terminal\n", truncated: false }),
    wait: () => {
      log.push(["wait"]);
      return { exitCode: 0 };
    },
    kill: () => void log.push(["kill"]),
    release: () => void log.push(["release"]),
  };
  await world.script(call("t1", "bash", { command: "make all" }), text("Done."));
  // A sandbox holds what runs on this side only, so a confined command is not handed to the editor.
  const args = ["--sandbox", "off"];
  await inSession(world, { answer: "allow_once", terminal, args }, async (editor, id) => {
    await editor.ask(id, "Build");
    const shown = editor.calls()[0].content.filter((part) => part.type === "terminal");
    equal(shown.map(({ terminalId }) => terminalId), ["term-1"]);
  });
  equal(log, [["create", true, world.work], ["wait"], ["release"]]);
  const [, , words] = toolResults((await world.requests())[1])[0];
  holds(words.includes("from the terminal"), `the model was told ${words}`);
}
