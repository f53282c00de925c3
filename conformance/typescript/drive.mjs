// Runs the cases of one folder: `drive.mjs FOLDER [PART OF A NAME ...]`.
//
// A case is an exported async function that takes a world; a module whose cases are data exports them as `CASES`, by
// name, and with `LIMIT` how many seconds each may take. Writes JSON lines for `cargo xtask conformance`: the names of
// all cases, then a verdict for each.

import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { World } from "./conform.mjs";

const LIMIT = 30;

const say = (fields) => process.stdout.write(`${JSON.stringify(fields)}\n`);

/** Runs a case and returns why it failed, or nothing. */
async function judge(name, run, limit) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not end within ${limit} s`)), limit * 1000);
  });
  try {
    await Promise.race([run(new World(`${process.env.CONFORMANCE_CLIENT}.${name}`)), late]);
    return undefined;
  } catch (error) {
    console.error(error);
    const frame = /\/(\w+)\/([\w-]+\.mjs):(\d+)/g;
    const places = [...String(error?.stack).matchAll(frame)].filter((found) => found[1] === process.argv[2]);
    const place = places.length > 0 ? `${places[0][2]}:${places[0][3]}: ` : "";
    return `${place}${error?.message ?? JSON.stringify(error)}`;
  } finally {
    clearTimeout(timer);
  }
}

const [folder, ...wanted] = process.argv.slice(2);
const here = join(dirname(fileURLToPath(import.meta.url)), folder);
const cases = [];
for (const file of readdirSync(here).sort()) {
  if (file.startsWith("_")) continue;
  const module = await import(join(here, basename(file)));
  const found = Object.entries(module.CASES ?? module).filter(([, value]) => typeof value === "function");
  cases.push(...found.map(([name, run]) => [name, run, module.LIMIT ?? LIMIT]));
}
const chosen = cases.filter(([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
// A client may leave a promise behind that fails later; that is no verdict on the case that runs then.
process.on("unhandledRejection", (error) => console.error("unhandled:", error));
say({ cases: chosen.map(([name]) => name) });
for (const [name, run, limit] of chosen) {
  console.error(`--- ${name}`);
  const began = performance.now();
  const why = await judge(name, run, limit);
  say({ case: name, ms: Math.round(performance.now() - began), ...(why === undefined ? {} : { why }) });
}
process.exit(0);
