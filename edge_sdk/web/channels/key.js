/** Keys of decoded values: two wire forms are equal if and only if their keys are. */

import { hex } from "../codec.js";

/**
 * The key of a decoded value.
 * @param {any} value of the codec; a number and an equal bigint have the same key
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
