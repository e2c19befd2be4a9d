/**
 * The outbox of sealed envelopes of each campaign, in order, and the state of its upload.
 *
 * An attempt is recorded as failed before it is made, and the record is removed when all its envelopes are accepted. So
 * neither a closed tab nor a second one makes a device try again too early. upload.js sends the envelopes.
 */

import { concat, same } from "./codec.js";
import { OutboxFull } from "./errors.js";

/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").State} State */

/** The limits of the outbox, over all campaigns; a study accepts as much in one upload. */
const MAX_ENVELOPES = 200;
const MAX_BYTES = 256 * 1024;

/** The total length of envelopes in bytes. @param {Uint8Array[]} envelopes */
export const sizeOf = (envelopes) => envelopes.reduce((sum, { length }) => sum + length, 0);

/**
 * Refuse an envelope that does not fit; waiting envelopes are never dropped.
 * @param {State} state @param {number} size an upper bound of the envelope's length in bytes
 * @throws {OutboxFull} too many envelopes or bytes would wait
 */
export function requireSpace(state, size) {
  const waiting = [...state.campaigns.values()].flatMap(({ outbox }) => outbox);
  if (waiting.length + 1 > MAX_ENVELOPES || sizeOf(waiting) + size > MAX_BYTES)
    throw new OutboxFull(
      `${waiting.length} envelopes with ${sizeOf(waiting)} bytes in all wait to be sent, and the limit is ${MAX_ENVELOPES} envelopes with ` +
        `${MAX_BYTES} bytes: nothing was drawn or charged; send them first`,
    );
}

/** Delete the record of the upload: no envelope is in flight, and no attempt has failed. @param {Kept} kept */
export function restartUpload(kept) {
  kept.upload = { envelopes: 0, failures: 0, nextAttempt: 0, trouble: "" };
}

/** The upload in flight; without one, all waiting envelopes. @param {Kept} kept @returns {Uint8Array[]} */
export const inFlight = ({ outbox, upload }) => outbox.slice(0, upload.envelopes || outbox.length);

/**
 * Record an attempt as failed.
 * @param {Kept} kept @param {number} next the earliest time of the next attempt
 * @returns {Uint8Array[]} the envelopes of the attempt
 */
export function begin(kept, next) {
  const carried = inFlight(kept);
  const { failures, trouble } = kept.upload;
  kept.upload = { envelopes: carried.length, failures: failures + 1, nextAttempt: next, trouble };
  return carried;
}

/**
 * True if the outbox still begins with the envelopes that were sent, and no acknowledgement came meanwhile.
 * @param {Kept} kept @param {Uint8Array[]} sent
 */
export const unchanged = (kept, sent) =>
  kept.upload.failures > 0 && same(concat(...inFlight(kept)), concat(...sent));

/**
 * Remove envelopes from the outbox, except those that the study did not accept.
 * @param {Kept} kept @param {Uint8Array[]} sent
 * @param {number[]} refused positions of the envelopes that the study did not accept
 */
export function acknowledge(kept, sent, refused) {
  kept.outbox = [...refused.map((place) => sent[place]), ...kept.outbox.slice(sent.length)];
  if (refused.length) kept.upload.envelopes = refused.length;
  else {
    restartUpload(kept);
    kept.admitted ||= kept.code !== "";
    kept.code = "";
  }
}
