// Agents that the caller describes.

import { call, equal, holds, systemText, text } from "../conform.mjs";
import { ask, init, options, prompts, told } from "./_run.mjs";

export async function agentsOfTheCaller(world) {
  const agents = {
    reviewer: { description: "Reviews code", prompt: "You are a strict reviewer.", tools: ["Read"], model: "inherit" },
  };
  const work = { description: "review", prompt: "review it", subagent_type: "reviewer" };
  await world.script(call("task", "Task", work), text("Good."), text("Done."));
  const messages = await ask(prompts("go"), options(world, { agents, allowedTools: ["Task"] }));
  equal(init(messages).agents, ["reviewer", "general-purpose"]);
  const [main, sub] = await world.requests();
  equal(systemText(sub), "You are a strict reviewer.");
  equal([sub.tools.map((tool) => tool.name), sub.model], [["Read"], main.model]);
  holds(JSON.stringify(main.tools).includes("Reviews code"), "the model does not hear what the agent is for");
  equal(told(messages).at(-1), "end success: Done.");
}
