// Run `faults` in node; the cases come from the standard input.

import { readFileSync } from "node:fs";
import { faults } from "./vectors.mjs";

console.log(JSON.stringify(await faults(JSON.parse(readFileSync(0, "utf-8")))));
