// The engine of the report under node: reads {model, rows} from stdin, writes its answers to the rows.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

const engineOf = runInThisContext(`${readFileSync(process.argv[2], "utf8")}; ferlEngine`);
// JSON has no infinity and no NaN: they are written as text, which Python's float reads.
const written = (_, value) =>
  value instanceof Float64Array ? Array.from(value) : typeof value === "number" && !isFinite(value) ? String(value) : value;

const { model, rows } = JSON.parse(readFileSync(0, "utf8"));
const engine = engineOf(model);
process.stdout.write(JSON.stringify(rows.map((row) => engine.judge(row.map(Number))), written));
