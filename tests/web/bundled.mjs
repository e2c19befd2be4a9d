// A test links this module into a single classic script, and runs the same checks in it.

import { faults } from "./vectors.mjs";

globalThis.faults = faults;
