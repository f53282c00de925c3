// Answers that have to fit a schema, and agents inside the agent.

import { writeFileSync } from "node:fs";

import { call, equal, holds, text } from "../conform.mjs";
import { ask, askInVain, options, result, told } from "./_run.mjs";

const outputFormat = {
  type: "json_schema",
  schema: {
    type: "object",
    properties: { city: { type: "string" }, people: { type: "integer" } },
    required: ["city", "people"],
    additionalProperties: false,
  },
};
const PARIS = { city: "Paris", people: 2000000 };

/** Scripts answers in whichever way zori asks for them: as calls of its tool, or as text. */
async function answering(world, ...answers) {
  for (const [n, answer] of answers.entries()) {
    const asCall = { when: '"StructuredOutput"', ...call(`t${n}`, "StructuredOutput", answer) };
    await world.script(asCall, text(JSON.stringify(answer)));
  }
}

export async function anAnswerThatFits(world) {
  await answering(world, PARIS);
  await world.script(text("There you are."));
  const end = result(await ask("Tell me about Paris", options(world, { outputFormat })));
  equal([end.subtype, end.is_error, end.structured_output], ["success", false, PARIS]);
}

export async function anAnswerThatNeverFits(world) {
  await answering(world, ...Array.from({ length: 12 }, () => ({ city: "Paris" })));
  const [messages] = await askInVain("Tell me about Paris", options(world, { outputFormat }));
  equal([result(messages).subtype, result(messages).is_error], ["error_max_structured_output_retries", true]);
}

export async function anAgentInside(world) {
  writeFileSync(world.path("a.txt"), "content\n");
  const work = { description: "look it up", prompt: "INNER: what is in a.txt?", subagent_type: "general-purpose" };
  await world.script(
    call("task", "Task", work),
    call("inner", "Read", { file_path: "a.txt" }),
    text("It says content."),
    text("Found."),
  );
  const lines = told(await ask("go", options(world, { allowedTools: ["Task"] })));
  holds(lines.includes('[task] call inner Read {"file_path":"a.txt"}'), `the inner call is not told: ${lines}`);
  holds(lines.includes("[task] user done inner"), `its result is not told: ${lines}`);
  equal(lines.slice(-2), ["text Found.", "end success: Found."]);
}
