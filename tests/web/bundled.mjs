// What a test links into one script: the same checks of the same modules, for a script that is no module.

import { faults } from "./vectors.mjs";

globalThis.faults = faults;
