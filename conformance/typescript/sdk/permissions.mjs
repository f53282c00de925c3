// Who decides on a call: the callback, lists of tools, modes, and nobody.

import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

import { call, equal, holds, text, toolResults, toolUse } from "../conform.mjs";
import { Conversation, ask, askInVain, init, options, prompts, result, told } from "./_run.mjs";

const WRITE = { file_path: "new.txt", content: "hello\n" };

/** A callback that gives one answer and notes what it was asked. */
function deciding(answer) {
  const asked = [];
  const decide = async (name, input, context) => {
    asked.push({ name, input, id: context.toolUseID });
    if (answer instanceof Error) throw answer;
    return typeof answer === "function" ? answer(input) : answer;
  };
  return [decide, asked];
}

export async function aCallThatIsAllowed(world) {
  const [canUseTool, asked] = deciding((input) => ({ behavior: "allow", updatedInput: input }));
  const input = { command: "echo ran > ran.txt; echo hi" };
  await world.script(call("t1", "Bash", input), text("Done."));
  const messages = await ask(prompts("go"), options(world, { canUseTool }));
  equal(told(messages), [
    "init",
    `call t1 Bash ${JSON.stringify(input)}`,
    "user done t1: hi",
    "text Done.",
    "end success: Done.",
  ]);
  equal(asked, [{ name: "Bash", input, id: "t1" }]);
  equal(readFileSync(world.path("ran.txt"), "utf8"), "ran\n");
}

export async function allowedWithoutInput(world) {
  const [canUseTool] = deciding({ behavior: "allow" });
  await world.script(call("t1", "Write", WRITE), text("Done."));
  await ask(prompts("go"), options(world, { canUseTool }));
  equal(readFileSync(world.path("new.txt"), "utf8"), "hello\n");
}

export async function aCallThatIsDenied(world) {
  const [canUseTool] = deciding({ behavior: "deny", message: "not on my machine" });
  await world.script(call("t1", "Write", WRITE), text("Too bad."));
  const messages = await ask(prompts("go"), options(world, { canUseTool }));
  equal(told(messages).slice(2), ["user failed t1: not on my machine", "text Too bad.", "end success: Too bad."]);
  holds(!existsSync(world.path("new.txt")), "the file was written all the same");
  equal(result(messages).permission_denials, [{ tool_name: "Write", tool_use_id: "t1", tool_input: WRITE }]);
}

export async function aCallWithChangedInput(world) {
  const updatedInput = { file_path: "safe.txt", content: "changed\n" };
  const [canUseTool] = deciding({ behavior: "allow", updatedInput });
  await world.script(call("t1", "Write", WRITE), text("Done."));
  await ask(prompts("go"), options(world, { canUseTool }));
  equal(readdirSync(world.work), ["safe.txt"]);
  equal(readFileSync(world.path("safe.txt"), "utf8"), "changed\n");
}

export async function aCallbackThatFails(world) {
  const [canUseTool] = deciding(new Error("the callback blew up"));
  await world.script(call("t1", "Write", WRITE), text("Hm."));
  const failed = told(await ask(prompts("go"), options(world, { canUseTool })))[2];
  holds(failed.startsWith("user failed t1:") && failed.includes("the callback blew up"), `the result is ${failed}`);
}

export async function deniedAndInterrupted(world) {
  const [canUseTool] = deciding({ behavior: "deny", message: "stop", interrupt: true });
  await world.script(call("t1", "Write", WRITE), text("Fine."));
  const talk = new Conversation(options(world, { canUseTool }));
  const messages = await talk.turn("go");
  equal(told(messages).slice(2, 4), ["user failed t1: stop", "user text [Request interrupted by user for tool use]"]);
  const end = result(messages);
  equal([end.subtype, end.is_error, end.terminal_reason], ["error_during_execution", true, "aborted_tools"]);
  equal(told(await talk.turn("and now?")), ["init", "text Fine.", "end success: Fine."]);
  await talk.end();
}

export async function rulesThatComeWithAnAnswer(world) {
  const rules = [{ toolName: "Bash", ruleContent: "make:*" }];
  const updatedPermissions = [{ type: "addRules", rules, behavior: "allow", destination: "session" }];
  const [canUseTool, asked] = deciding((updatedInput) => ({ behavior: "allow", updatedInput, updatedPermissions }));
  await world.script(
    call("t1", "Bash", { command: "make --help" }),
    call("t2", "Bash", { command: "make --help all" }),
    text("Done."),
  );
  await ask(prompts("go"), options(world, { canUseTool }));
  equal(asked.map(({ input }) => input.command), ["make --help"], "what was asked about");
}

export async function theSuggestionsAreAnAnswer(world) {
  const asked = [];
  const canUseTool = async (name, input, { suggestions }) => {
    asked.push(input.file_path);
    return { behavior: "allow", updatedInput: input, updatedPermissions: suggestions };
  };
  await world.script(
    call("t1", "Write", WRITE),
    call("t2", "Write", { file_path: "b.txt", content: "b\n" }),
    text("Done."),
  );
  await ask(prompts("go"), options(world, { canUseTool }));
  equal(asked, ["new.txt"], "what was asked about");
  equal(readFileSync(world.path("b.txt"), "utf8"), "b\n");
}

export async function readingIsNotAskedAbout(world) {
  writeFileSync(world.path("a.txt"), "content\n");
  const [canUseTool, asked] = deciding({ behavior: "deny", message: "no" });
  await world.script(call("t1", "Read", { file_path: world.path("a.txt") }), text("Read."));
  const messages = await ask(prompts("go"), options(world, { canUseTool }));
  equal([told(messages)[2], asked], ["user done t1", []]);
}

export async function nobodyToAsk(world) {
  await world.script(call("t1", "Write", WRITE), text("I cannot."));
  const messages = await ask("go", options(world));
  const lines = told(messages).filter((line) => line !== "permission_denied");
  holds(lines[2].startsWith("user failed t1:"), `the result is ${lines[2]}`);
  equal(lines.slice(3), ["text I cannot.", "end success: I cannot."]);
  equal(result(messages).permission_denials, [{ tool_name: "Write", tool_use_id: "t1", tool_input: WRITE }]);
}

export async function toolsThatAreAllowed(world) {
  const [canUseTool, asked] = deciding({ behavior: "deny", message: "no" });
  await world.script(
    call("t1", "Bash", { command: "echo hi" }),
    call("t2", "Bash", { command: "touch x" }),
    text("Done."),
  );
  const messages = await ask(prompts("go"), options(world, { canUseTool, allowedTools: ["Bash(echo:*)"] }));
  equal(told(messages).filter((line) => line.startsWith("user")), ["user done t1: hi", "user failed t2: no"]);
  equal(asked.map(({ input }) => input.command), ["touch x"]);
}

export async function toolsThatAreDisallowed(world) {
  await world.script(call("t1", "Bash", { command: "touch x" }), text("Done."));
  const chosen = options(world, {
    disallowedTools: ["Bash"],
    permissionMode: "bypassPermissions",
    allowDangerouslySkipPermissions: true,
  });
  const messages = await ask("go", chosen);
  holds(!init(messages).tools.includes("Bash"), `the tools are ${init(messages).tools}`);
  holds(!existsSync(world.path("x")), "the command ran all the same");
}

export async function onlySomeTools(world) {
  await world.script(text("Hi."));
  const messages = await ask("go", options(world, { tools: ["Read", "Glob"] }));
  equal([...init(messages).tools].sort(), ["Glob", "Read"]);
}

export async function noTools(world) {
  await world.script(text("Hi."));
  const messages = await ask("go", options(world, { tools: [] }));
  equal([init(messages).tools, (await world.requests())[0].tools ?? []], [[], []]);
}

/** What becomes of an edit, a command and a read in a mode, when nobody can be asked. */
async function outcome(world, mode) {
  writeFileSync(world.path("a.txt"), "a\n");
  writeFileSync(world.path("run.sh"), "exit 0\n");
  const calls = [
    toolUse("edit", "Edit", { file_path: "a.txt", old_string: "a", new_string: "b" }),
    toolUse("run", "Bash", { command: "sh run.sh" }),
    toolUse("read", "Read", { file_path: "a.txt" }),
  ];
  await world.script({ content: calls }, text("Done."));
  const chosen = { permissionMode: mode, allowDangerouslySkipPermissions: mode === "bypassPermissions" };
  equal(init(await ask("go", options(world, chosen))).permissionMode, mode);
  const results = toolResults((await world.requests())[1]);
  return Object.fromEntries(results.map(([id, failed]) => [id, failed ? "failed" : "done"]));
}

export async function modeDefault(world) {
  equal(await outcome(world, "default"), { edit: "failed", run: "failed", read: "done" });
}

export async function modeAcceptEdits(world) {
  equal(await outcome(world, "acceptEdits"), { edit: "done", run: "failed", read: "done" });
}

export async function modePlan(world) {
  equal(await outcome(world, "plan"), { edit: "failed", run: "failed", read: "done" });
}

export async function modeDontAsk(world) {
  equal(await outcome(world, "dontAsk"), { edit: "failed", run: "failed", read: "done" });
}

export async function modeBypass(world) {
  equal(await outcome(world, "bypassPermissions"), { edit: "done", run: "done", read: "done" });
}

export async function theModeIsChanged(world) {
  await world.script(call("t1", "Write", WRITE), text("One."), call("t2", "Write", WRITE), text("Two."));
  const talk = new Conversation(options(world));
  const first = told(await talk.turn("a"));
  await talk.query.setPermissionMode("acceptEdits");
  const second = await talk.turn("b");
  await talk.end();
  holds(first.some((line) => line.startsWith("user failed t1")), `${first}`);
  holds(told(second).includes("user done t2"), `${told(second)}`);
  equal(init(second).permissionMode, "acceptEdits");
}

export async function aLimitOnTurns(world) {
  await world.script(...[1, 2, 3].map((n) => call(`t${n}`, "Bash", { command: "echo hi" })));
  const [messages, error] = await askInVain("go", options(world, { maxTurns: 2, allowedTools: ["Bash"] }));
  const end = result(messages);
  equal([end.subtype, end.is_error, end.terminal_reason], ["error_max_turns", true, "max_turns"]);
  holds(end.errors.length === 1 && end.errors[0].includes("2"), `the errors are ${end.errors}`);
  holds(error.message.includes(end.errors[0]), `the error is ${error.message}`);
}

export async function aLimitOnCost(world) {
  const usage = { input_tokens: 1000000, output_tokens: 0 };
  await world.script(...[1, 2].map((n) => call(`t${n}`, "Bash", { command: "echo hi" }, { usage })));
  const [messages] = await askInVain("go", options(world, { maxBudgetUsd: 0.5, allowedTools: ["Bash"] }));
  equal([result(messages).subtype, result(messages).is_error], ["error_max_budget_usd", true]);
}
