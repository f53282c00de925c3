// The protocol's own conformance suite, in its server mode.
//
// It runs against `zori mcp serve --http`, and against the same server code with the tools that its scenarios call
// (`crates/zori-mcp/examples/fixtures.rs`). What zori does not offer has no scenario to pass: that is said, with the reason.

import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { lettingIn, serveFixtures, serveHttp } from "../mcp/_server.mjs";

const PLACE = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json");
const SUITE = join(dirname(PLACE), "dist/index.js");
const VERSIONS = ["2025-11-25", "2026-07-28"];

/** What does not apply, and why: the beginning of a scenario's name each. */
const NOT_HERE = [
  ["completion-complete", "zori offers no completions"],
  ["logging-set-level", "zori sends no log messages by the protocol"],
  ["tools-call-with-logging", "zori sends no log messages by the protocol"],
  ["tools-call-audio", "no tool of zori's answers with sound"],
  ["tools-call-embedded-resource", "no tool of zori's answers with a resource"],
  ["tools-call-mixed-content", "no tool of zori's answers with a resource"],
  ["tools-call-sampling", "zori asks no client for sampling"],
  ["server-sse-polling", "zori closes no stream in the middle of a call"],
  ["resources-", "zori offers no resources"],
  ["sep-2164-resource-not-found", "zori offers no resources"],
  ["prompts-", "zori offers no prompts"],
  ["http-custom-header-server-validation", "no tool of zori's takes a parameter from a header"],
  ["input-required-result-basic-sampling", "zori asks no client for sampling"],
  ["input-required-result-basic-list-roots", "zori asks no client for its roots"],
  ["input-required-result-multiple-input-requests", "zori asks one question at a time"],
  ["input-required-result-non-tool-request", "zori offers no prompts"],
  ["input-required-result-capability-check", "it wants a question by sampling, which zori asks no client for"],
];

/** Single checks that do not apply, in scenarios that do. */
const CHECKS_NOT_HERE = {
  "sep-2549-prompts-list-caching-hints": "zori offers no prompts",
  "sep-2549-resources-list-caching-hints": "zori offers no resources",
  "sep-2549-resources-templates-list-caching-hints": "zori offers no resources",
  "sep-2575-server-rejects-undeclared-capability": "no tool of zori's needs what a client did not offer: it is denied instead",
  "sep-2575-missing-capability-http-400": "no tool of zori's needs what a client did not offer: it is denied instead",
  "sep-2575-http-server-method-not-found-404-initialize": "zori has `initialize`, for the versions before",
};

/** The scenarios that call tools which zori does not have: they run on its server code with those tools. */
const WITH_FIXTURES = /^(tools-call-|elicitation-|json-schema-|input-required-result-)/;

const execute = promisify(execFile);

/** Runs a scenario and throws what it found wrong. */
async function pass(world, scenario, version) {
  const server = WITH_FIXTURES.test(scenario)
    ? await serveFixtures(process.env.CONFORMANCE_FIXTURES)
    : await serveHttp(world);
  const door = await lettingIn(server);
  try {
    const args = ["server", "--url", door.url, "--scenario", scenario, "--spec-version", version];
    const { stdout } = await execute(process.execPath, [SUITE, ...args], { cwd: world.work });
    console.error(stdout);
    const words = stdout.replaceAll(/\x1b\[\d+m/g, "");
    for (const [, check] of words.matchAll(/ \[(\S+) *\] WARNING /g)) console.log(`warning: ${scenario}, ${check}`);
  } catch (error) {
    const said = `${error.stdout}\n${error.stderr}`.replaceAll(/\x1b\[\d+m/g, "");
    const failed = [...said.matchAll(/ \[(\S+) *\] FAILURE /g)].map(([, check]) => check);
    if (failed.length === 0 || failed.some((check) => !(check in CHECKS_NOT_HERE))) throw new Error(said.trim());
    for (const check of failed) console.log(`does not apply: ${scenario}, ${check}: ${CHECKS_NOT_HERE[check]}`);
  } finally {
    door.close();
    await server.end();
  }
}

/** Every scenario for servers, with its versions. */
async function scenarios() {
  const { stdout } = await execute(process.execPath, [SUITE, "list"]);
  const [servers] = stdout.split("Client scenarios");
  return [...servers.matchAll(/^ {2}- (\S+) \[([^\]]+)\]$/gm)].map(([, name, versions]) => [name, versions.split(",")]);
}

export const CASES = {};
for (const [name, versions] of await scenarios()) {
  const why = versions.includes("extension")
    ? "it is of an extension that zori does not offer"
    : NOT_HERE.find(([start]) => name.startsWith(start))?.[1];
  if (why !== undefined) {
    console.log(`does not apply: ${name}: ${why}`);
    continue;
  }
  for (const version of VERSIONS.filter((version) => versions.includes(version))) {
    CASES[`${name}@${version}`] = (world) => pass(world, name, version);
  }
}
