// The scripts of the report's engine under node: gives a task from stdin to a function, writes what the function returns.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

const [function_, ...scripts] = process.argv.slice(2);
const answer = runInThisContext(`${scripts.map((path) => readFileSync(path, "utf8")).join("\n")}; (${function_})`);
// JSON has no infinity and no NaN: they are written as text, which Python's float reads.
const written = (_, value) =>
  value instanceof Float64Array ? Array.from(value) : typeof value === "number" && !isFinite(value) ? String(value) : value;

process.stdout.write(JSON.stringify(answer(JSON.parse(readFileSync(0, "utf8"))), written));
