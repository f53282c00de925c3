// Hooks as functions of the caller: before and after calls, on prompts, at the end.

import { existsSync } from "node:fs";

import { body, call, equal, holds, text } from "../conform.mjs";
import { Conversation, ask, options, prompts, result, told } from "./_run.mjs";

const ECHO = { command: "echo hi" };

/** A hook with one answer, and the inputs it was called with. */
function hook(answer) {
  const seen = [];
  const run = async (input) => {
    seen.push(input);
    return typeof answer === "function" ? answer(input) : answer;
  };
  return [run, seen];
}

const before = (permissionDecision, more = {}) => ({
  hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, ...more },
});

const hooked = (world, event, run, more = {}, matcher = undefined) =>
  options(world, { hooks: { [event]: [{ matcher, hooks: [run] }] }, ...more });

export async function aHookDeniesSomeCommands(world) {
  const [run, seen] = hook((input) =>
    input.tool_input.command.includes("foo.sh")
      ? before("deny", { permissionDecisionReason: "foo.sh is not allowed" })
      : {},
  );
  await world.script(call("t1", "Bash", { command: "./foo.sh" }), text("No."), call("t2", "Bash", ECHO), text("Yes."));
  const talk = new Conversation(hooked(world, "PreToolUse", run, { allowedTools: ["Bash"] }, "Bash"));
  const first = told(await talk.turn("Run foo")).filter((line) => line.startsWith("user"));
  const second = told(await talk.turn("Say hi")).filter((line) => line.startsWith("user"));
  await talk.end();
  holds(first[0].startsWith("user failed t1:") && first[0].includes("foo.sh is not allowed"), `${first}`);
  equal(second, ["user done t2: hi"]);
  equal(seen.map((input) => input.tool_name), ["Bash", "Bash"]);
}

export async function whatAHookIsTold(world) {
  const [run, seen] = hook({});
  await world.script(call("t1", "Bash", ECHO), text("Done."));
  const messages = await ask(prompts("go"), hooked(world, "PreToolUse", run, { allowedTools: ["Bash"] }));
  const { hook_event_name, tool_name, tool_input, tool_use_id, cwd, permission_mode, session_id } = seen[0];
  equal(
    { hook_event_name, tool_name, tool_input, tool_use_id, cwd, permission_mode, session_id },
    {
      hook_event_name: "PreToolUse",
      tool_name: "Bash",
      tool_input: ECHO,
      tool_use_id: "t1",
      cwd: world.work,
      permission_mode: "default",
      session_id: result(messages).session_id,
    },
  );
}

export async function aHookAllowsWhatNobodyCould(world) {
  const [run] = hook(before("allow"));
  await world.script(call("t1", "Bash", { command: "touch ran; echo hi" }), text("Done."));
  const messages = await ask(prompts("go"), hooked(world, "PreToolUse", run));
  equal(told(messages)[2], "user done t1: hi");
}

export async function aHookChangesTheInput(world) {
  const [run] = hook(before("allow", { updatedInput: { command: "echo changed" } }));
  await world.script(call("t1", "Bash", ECHO), text("Done."));
  equal(told(await ask(prompts("go"), hooked(world, "PreToolUse", run)))[2], "user done t1: changed");
}

export async function aHookThatFailsDecidesNothing(world) {
  const [run] = hook(() => {
    throw new Error("the hook blew up");
  });
  await world.script(call("t1", "Bash", ECHO), text("Done."));
  const messages = await ask(prompts("go"), hooked(world, "PreToolUse", run, { allowedTools: ["Bash"] }));
  equal(told(messages).slice(2), ["user done t1: hi", "text Done.", "end success: Done."]);
}

export async function aMatcherChooses(world) {
  const [run, seen] = hook(before("deny"));
  await world.script(call("t1", "Bash", ECHO), text("Done."));
  await ask(prompts("go"), hooked(world, "PreToolUse", run, { allowedTools: ["Bash"] }, "Write|Edit"));
  equal(seen, [], "calls the hook saw");
}

export async function aHookSeesTheResult(world) {
  const [run, seen] = hook({
    hookSpecificOutput: { hookEventName: "PostToolUse", additionalContext: "That was an error, mind." },
  });
  await world.script(call("t1", "Bash", { command: "echo oh" }), text("Done."));
  await ask(prompts("go"), hooked(world, "PostToolUse", run, { allowedTools: ["Bash"] }));
  holds(JSON.stringify(seen[0].tool_response).includes("oh"), `the hook was told ${JSON.stringify(seen[0])}`);
  holds(body((await world.requests())[1]).includes("That was an error, mind."), "the model was not told");
}

export async function aHookAddsToThePrompt(world) {
  const [run, seen] = hook({
    hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: "My colour is hot pink." },
  });
  await world.script(text("Pink."));
  await ask(prompts("What is my colour?"), hooked(world, "UserPromptSubmit", run));
  equal(seen.map((input) => input.prompt), ["What is my colour?"]);
  holds(body((await world.requests())[0]).includes("My colour is hot pink."), "the model was not told");
}

export async function aHookAtTheEndGoesOn(world) {
  const [run, seen] = hook((input) =>
    input.stop_hook_active ? {} : { decision: "block", reason: "Also run the tests." },
  );
  await world.script(text("Done."), text("Tests pass."));
  const messages = await ask(prompts("go"), hooked(world, "Stop", run));
  equal(seen.map((input) => input.stop_hook_active), [false, true]);
  equal(result(messages).result, "Tests pass.");
}

export async function aHookThatFailsAndBlocks(world) {
  const fail = async () => {
    throw new Error("the hook blew up");
  };
  await world.script(call("t1", "Bash", { command: "touch ran" }), text("Done."));
  const hooks = { PreToolUse: [{ hooks: [fail], onFailure: "block" }] };
  await ask(prompts("go"), options(world, { hooks, allowedTools: ["Bash"] }));
  holds(!existsSync(world.path("ran")), "the command ran although its hook failed");
}
