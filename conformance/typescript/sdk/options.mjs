// What callers may ask for beside prompts: another model, an earlier message, hook events.

import { body, call, equal, failure, holds, text } from "../conform.mjs";
import { ask, options, prompts, result, told } from "./_run.mjs";

export async function aFallbackModel(world) {
  await world.script(failure(529, "overloaded_error", "Overloaded"), text("Hello."));
  const chosen = options(world, { fallbackModel: "claude-sonnet-4-5", env: { CLAUDE_CODE_MAX_RETRIES: "0" } });
  equal(told(await ask("Hi", chosen)), ["init", "informational", "text Hello.", "end success: Hello."]);
  const asked = (await world.requests()).map((request) => request.model);
  equal(asked, ["claude-haiku-4-5", "claude-sonnet-4-5"]);
}

export async function resumedAtAMessage(world) {
  await world.script(text("One."), text("Two."), text("Three."));
  const first = await ask("a", options(world));
  const resumeSessionAt = first.find((message) => message.type === "assistant").uuid;
  const resume = result(first).session_id;
  await ask("b", options(world, { resume }));
  const third = await ask("c", options(world, { resume, resumeSessionAt }));
  equal(result(third).session_id, resume);
  const sent = body((await world.requests())[2]);
  holds(sent.includes("One.") && !sent.includes("Two."), `the model was sent ${sent}`);
}

export async function hooksAreTold(world) {
  await world.script(call("t1", "Bash", { command: "echo hi" }), text("Done."));
  const hooks = { PreToolUse: [{ hooks: [async () => ({})] }] };
  const chosen = options(world, { hooks, includeHookEvents: true, allowedTools: ["Bash"] });
  const seen = told(await ask(prompts("go"), chosen)).filter((line) => line.startsWith("hook_"));
  equal(seen, ["hook_started", "hook_response"]);
}
