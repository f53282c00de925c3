// Files go back to before a prompt, as the SDK's documentation on file checkpointing does it.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { call, equal, holds, text } from "../conform.mjs";
import { Conversation, options, result } from "./_run.mjs";

const CHECKPOINTED = {
  enableFileCheckpointing: true,
  permissionMode: "bypassPermissions",
  allowDangerouslySkipPermissions: true,
  extraArgs: { "replay-user-messages": null },
};

const checkpoint = (messages) => messages.find((message) => message.type === "user" && message.uuid).uuid;
const write = (file_path, content) => call("t1", "Write", { file_path, content });

async function refused(act) {
  try {
    await act();
  } catch (error) {
    return error.message;
  }
  throw new Error("files were said to be rewound");
}

export async function filesGoBackTurnByTurn(world) {
  const [old, fresh] = [join(world.work, "old.txt"), join(world.work, "new.txt")];
  writeFileSync(old, "old\n");
  await world.script(
    write("old.txt", "one\n"),
    text("One."),
    call("t2", "Bash", { command: "echo two > old.txt; echo new > new.txt" }),
    text("Two."),
  );
  const talk = new Conversation(options(world, CHECKPOINTED));
  const first = checkpoint(await talk.turn("One"));
  const second = checkpoint(await talk.turn("Two"));
  const dry = await talk.query.rewindFiles(second, { dryRun: true });
  equal([dry.canRewind, dry.filesChanged.map((path) => path.split("/").at(-1)).sort()], [true, ["new.txt", "old.txt"]]);
  equal([dry.insertions, dry.deletions, dry.skippedLinks], [1, 2, undefined]);
  equal([readFileSync(old, "utf8"), existsSync(fresh)], ["two\n", true]);
  const done = await talk.query.rewindFiles(second);
  equal([done.canRewind, done.filesChanged.length, done.skippedLinks], [true, 2, 0]);
  equal([readFileSync(old, "utf8"), existsSync(fresh)], ["one\n", false]);
  await talk.query.rewindFiles(first);
  equal(readFileSync(old, "utf8"), "old\n");
  await talk.end();
}

export async function filesGoBackInALaterRun(world) {
  const fresh = join(world.work, "new.txt");
  await world.script(write("new.txt", "new\n"), text("One."), text("Two."));
  const before = new Conversation(options(world, CHECKPOINTED));
  const messages = await before.turn("One");
  await before.end();
  const later = new Conversation(options(world, { ...CHECKPOINTED, resume: result(messages).session_id }));
  // The documentation opens the connection with an empty prompt.
  later.say("");
  await later.until(() => true);
  const done = await later.query.rewindFiles(checkpoint(messages));
  equal([done.canRewind, existsSync(fresh)], [true, false]);
  later.query.close();
}

export async function whatAPersonWroteSinceStays(world) {
  const fresh = join(world.work, "new.txt");
  await world.script(write("new.txt", "new\n"), text("One."));
  const talk = new Conversation(options(world, CHECKPOINTED));
  const first = checkpoint(await talk.turn("One"));
  writeFileSync(fresh, "mine\n");
  const done = await talk.query.rewindFiles(first);
  equal([done.canRewind, done.filesChanged, done.filesKept[0].reason], [false, [], "changed_since"]);
  equal(readFileSync(fresh, "utf8"), "mine\n");
  await talk.end();
}

export async function messagesThatAreNoPrompts(world) {
  await world.script(write("new.txt", "new\n"), text("One."));
  const talk = new Conversation(options(world, CHECKPOINTED));
  const messages = await talk.turn("One");
  const names = messages.filter((message) => message.type === "user" && message.uuid).map((message) => message.uuid);
  equal(names.length, 2);
  for (const name of [names[1], "00000000-0000-4000-8000-000000000000"]) {
    const why = await refused(() => talk.query.rewindFiles(name));
    holds(why.includes("No file checkpoint found for this message."), `the reason is ${why}`);
    equal(await talk.query.rewindFiles(name, { dryRun: true }), {
      canRewind: false,
      error: "No file checkpoint found for this message.",
    });
  }
  await talk.end();
}
