// The protocol's own conformance suite, in its client mode: the scenarios that each revision requires, against zori's client
// (`crates/zori/examples/mcp_conformance.rs`). There is no baseline file: every check of every one of them has to pass.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const PLACE = dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json"));
const SUITE = join(PLACE, "dist/index.js");
const VERSIONS = ["2025-11-25", "2026-07-28"];
/** How many scenarios each revision requires of clients; another number is another suite. */
const REQUIRED = { "2025-11-25": 18, "2026-07-28": 32 };

const execute = promisify(execFile);

/** Runs a scenario and throws what it found wrong. A warning is wrong, too. */
async function pass(world, scenario, version) {
  const args = ["client", "--command", process.env.CONFORMANCE_MCP_CLIENT, "--scenario", scenario];
  try {
    const { stdout, stderr } = await execute(process.execPath, [SUITE, ...args, "--spec-version", version, "--force"], { cwd: world.work });
    const said = `${stdout}\n${stderr}`.replaceAll(/\x1b\[\d+m/g, "");
    if (/\] (FAILURE|WARNING)\b/.test(said)) throw Object.assign(new Error("a check did not pass"), { stdout, stderr });
    // A scenario to which nobody came has no checks, and nothing against that.
    if (!/\] SUCCESS\b/.test(said)) throw Object.assign(new Error("no check passed"), { stdout, stderr });
    console.error(said);
  } catch (error) {
    throw new Error(`${error.message}\n${error.stdout ?? ""}\n${error.stderr ?? ""}`.replaceAll(/\x1b\[\d+m/g, "").trim());
  }
}

/** The scenarios that a revision requires of clients. */
async function required(version) {
  const text = await readFile(join(PLACE, "requirements", `${version}.yaml`), "utf8");
  const [, list] = text.match(/^client:\n((?: {2}- .+\n)+)/m);
  const names = [...list.matchAll(/^ {2}- (\S+)$/gm)].map(([, name]) => name);
  if (names.length !== REQUIRED[version]) throw new Error(`${version} requires ${names.length} scenarios`);
  return names;
}

export const CASES = {};
for (const version of VERSIONS) {
  for (const name of await required(version)) CASES[`${name}@${version}`] = (world) => pass(world, name, version);
}
