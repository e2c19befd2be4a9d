/**
 * The queue of sealed envelopes that wait to leave, campaign by campaign, and how far each upload has come.
 *
 * An attempt is written down as failed before it is made, and a receipt strikes it off: so neither a closed tab nor a
 * second one makes a device try again too early. How envelopes leave: upload.js.
 */

import { concat, same } from "./codec.js";
import { OutboxFull } from "./errors.js";

/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").State} State */

/** What waits at most, all campaigns together; also what a study takes in one upload. */
const MOST_ENVELOPES = 200;
const MOST_BYTES = 256 * 1024;

/** @param {Uint8Array[]} envelopes */
const sizeOf = (envelopes) => envelopes.reduce((sum, { length }) => sum + length, 0);

/**
 * Refuse what would not fit; nothing that waits is ever dropped to make room.
 * @param {State} state @param {number} size bytes of one more envelope, or above it
 * @throws {OutboxFull}
 */
export function requireSpace(state, size) {
  const waiting = [...state.campaigns.values()].flatMap(({ outbox }) => outbox);
  if (waiting.length + 1 > MOST_ENVELOPES || sizeOf(waiting) + size > MOST_BYTES)
    throw new OutboxFull(
      `${waiting.length} envelopes wait to leave, and at most ${MOST_ENVELOPES} of ${MOST_BYTES} bytes may: nothing was ` +
        "drawn or charged; send what waits first",
    );
}

/** Nothing is in flight. @param {Kept} kept */
export function beginAnew(kept) {
  kept.upload = { envelopes: 0, failures: 0, notBefore: 0, trouble: "" };
}

/** What is to be sent: the upload in flight or, without one, all that waits. @param {Kept} kept @returns {Uint8Array[]} */
export const inFlight = ({ outbox, upload }) => outbox.slice(0, upload.envelopes || outbox.length);

/**
 * Write an attempt down as failed.
 * @param {Kept} kept @param {number} next no attempt before this time
 * @returns {Uint8Array[]} what it carries
 */
export function begin(kept, next) {
  const carried = inFlight(kept);
  const { failures, trouble } = kept.upload;
  kept.upload = { envelopes: carried.length, failures: failures + 1, notBefore: next, trouble };
  return carried;
}

/** Whether the upload is as it was when it was sent. @param {Kept} kept @param {Uint8Array[]} sent */
export const unchanged = (kept, sent) =>
  kept.upload.failures > 0 && same(concat(...inFlight(kept)), concat(...sent));

/**
 * Take what a study took off the queue.
 * @param {Kept} kept @param {Uint8Array[]} sent @param {number[]} refused positions of what it did not take
 */
export function acknowledge(kept, sent, refused) {
  kept.outbox = [...refused.map((place) => sent[place]), ...kept.outbox.slice(sent.length)];
  if (refused.length) kept.upload.envelopes = refused.length;
  else {
    beginAnew(kept);
    kept.admitted ||= kept.code !== "";
    kept.code = "";
  }
}
