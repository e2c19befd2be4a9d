/** A text for each decoded value: two wire forms are equal exactly where their texts are. */

import { hex } from "../codec.js";

/**
 * @param {any} value of the codec; a number and the bigint that equals it are alike
 * @returns {string}
 */
export const keyOf = (value) =>
  JSON.stringify(value, (_, part) =>
    part instanceof Uint8Array
      ? hex(part)
      : typeof part === "bigint"
        ? Number.isSafeInteger(Number(part))
          ? Number(part)
          : `${part}n`
        : part,
  );
