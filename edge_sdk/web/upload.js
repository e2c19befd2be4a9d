/**
 * Upload each campaign's envelopes to its own study. The same bytes are sent until an acknowledgement has their digest
 * (SPEC 9.1).
 *
 * Time and size of an upload depend on the number of waiting reports, on the network and on chance, never on an answer.
 * No lock is held during a request: a tab that is closed meanwhile leaves a failed attempt.
 */

import { concat, hex, toBig } from "./codec.js";
import { sha256 } from "./keys.js";
import { acknowledge, begin, inFlight, unchanged } from "./outbox.js";

/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").Store} Store */

/**
 * The result of one campaign's upload.
 * @typedef {object} Attempt
 * @property {Uint8Array} campaignId
 * @property {number} envelopes number of envelopes sent or, unless the outcome is "sent", still waiting
 * @property {"sent" | "waiting" | "failed" | "unknown_campaign" | "refused" | "elsewhere"} outcome "sent":
 *   accepted; "waiting": not due yet; "failed": to be tried again; "unknown_campaign": the study does not have the
 *   campaign yet; "refused": the study refused the bytes or the code, and would refuse them again; "elsewhere": no
 *   address is known
 * @property {string} reason why they are still queued; empty when sent
 * @property {number | null} nextAttempt the earliest time of the next attempt, UTC seconds; null if there is none
 */

const TIMEOUT = 30_000;
const DAY = 86_400;
const MAX_RESPONSE = 4096;
/** The stages at which the same bytes fail in every attempt. */
const PERMANENT_STAGES = ["codec", "envelope"];

/**
 * The delay in seconds after failure number `failures + 1`: uniform in 0 .. min(24 h, 2^failures minutes).
 * @param {number} failures @param {Uint8Array} rand 8 bytes
 */
const delay = (failures, rand) => Number((toBig(rand) * BigInt(Math.min(DAY, 60 * 2 ** failures) + 1)) >> 64n);

/**
 * True if an upload is due. A time beyond the longest delay was stored while the clock was ahead, so it is ignored.
 * @param {Kept} kept @param {number} now
 */
export const due = ({ upload }, now) => upload.trouble !== "refused" && !(now < upload.nextAttempt && upload.nextAttempt <= now + DAY + 1);

/**
 * The delay in seconds of a Retry-After header, at most 24 hours; 0 if it is invalid or past.
 * @param {string | null} header @param {number} now
 */
function retryAfter(header, now) {
  const seconds = /^\d+$/.test(header ?? "") ? Number(header) : Math.ceil(Date.parse(header ?? "") / 1000 - now);
  return seconds > 0 ? Math.min(seconds, DAY) : 0;
}

/**
 * The positions that an acknowledgement lists; null if it is not an acknowledgement of this upload.
 * @param {any} ack @param {Uint8Array[]} sent @param {string} digest
 */
function refusedBy(ack, sent, digest) {
  if (ack?.digest !== digest || ack.envelopes !== sent.length || !Array.isArray(ack.refused)) return null;
  const inOrder = ack.refused.every(
    (/** @type {any} */ place, /** @type {number} */ i) =>
      Number.isInteger(place) && place >= 0 && place < sent.length && !(i && place <= ack.refused[i - 1]),
  );
  return inOrder ? /** @type {number[]} */ (ack.refused) : null;
}

/** The JSON value in a response; null if it is not JSON or too long. @param {Response} response */
async function jsonOf(response) {
  const text = await response.text();
  try {
    return text.length <= MAX_RESPONSE ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

/**
 * Post an upload once. No redirect is followed, and neither a cookie nor a referrer is sent.
 * @param {string} address @param {Uint8Array[]} sent @param {string} code the code that admits the device, or ""
 * @param {number} now
 * @returns {Promise<{refused?: number[], permanent?: boolean, wait?: number, reason?: string}>} `refused`: the
 *   positions that an acknowledgement lists; without them `reason`: why there is no acknowledgement; `permanent`: true if
 *   the same bytes would fail in every attempt; `wait`: the seconds that the study asks to wait
 */
async function exchange(address, sent, code, now) {
  const bytes = concat(...sent);
  const { host } = new URL(address);
  try {
    const response = await fetch(`${address}/v1/reports`, {
      method: "POST",
      body: bytes,
      headers: { "Content-Type": "application/octet-stream", ...(code && { "Halftruth-Code": code }) },
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const body = await jsonOf(response);
    if (response.status === 200) {
      const refused = refusedBy(body, sent, hex(await sha256(bytes)));
      return refused ? { refused } : { reason: `${host} did not acknowledge this upload` };
    }
    if (response.status === 400 && PERMANENT_STAGES.includes(body?.stage))
      return { permanent: true, reason: `${host} responded that these bytes are not reports or enrolments` };
    if (response.status === 403 && code && body?.stage === "code")
      return { permanent: true, reason: `${host} refused the code, which does not belong to this campaign or was used by another device` };
    return { wait: retryAfter(response.headers.get("Retry-After"), now), reason: `${host} responded with status ${response.status}` };
  } catch (error) {
    return { reason: `no response from ${host}: ${/** @type {Error} */ (error).name}` };
  }
}

/**
 * Send a campaign's upload to each of its addresses in turn until all its envelopes are accepted.
 * @param {Store} store @param {Kept} kept as it was read @param {string[]} addresses @param {number} now
 * @param {Uint8Array} rand 8 bytes, from which the delay after a failure is drawn
 * @returns {Promise<Attempt | null>} null if nothing waits
 */
export async function send(store, kept, addresses, now, rand) {
  const { id } = kept;
  /** @returns {Attempt} */
  const attempt = (/** @type {Attempt["outcome"]} */ outcome, /** @type {number} */ envelopes, reason = "", /** @type {number | null} */ nextAttempt = null) =>
    ({ campaignId: id, envelopes, outcome, reason, nextAttempt });
  if (!kept.outbox.length) return null;
  if (!addresses.length) return attempt("elsewhere", kept.outbox.length, "the campaign has no address: save the report as a file");
  /** @type {Kept} */
  let current = kept;
  const begun = await store.change(id, async (own) => {
    current = own;
    return own.outbox.length && due(own, now) ? begin(own, now + delay(own.upload.failures, rand)) : null;
  });
  const { failures, nextAttempt, trouble } = current.upload;
  if (!begun) {
    const left = inFlight(current).length;
    if (trouble === "refused") return attempt("refused", left, "the study refused the envelopes or the code: save them as a file, or forget the campaign");
    return left ? attempt("waiting", left, `attempt ${failures} failed (${trouble === "unknown_campaign" ? "the study does not have this campaign" : "the upload was not acknowledged"}), and the next one is not due yet`, nextAttempt) : null;
  }
  /** The envelopes that are not accepted yet. */
  let sent = begun;
  /** @type {(string | undefined)[]} */
  const reasons = [];
  let [wait, unknown, permanent] = [0, false, true];
  for (const address of addresses) {
    const reply = await exchange(address, sent, current.code, now);
    const { refused } = reply;
    reasons.push(reply.reason);
    if (refused) {
      const offered = sent;
      sent = refused.map((place) => offered[place]);
      await store.change(id, async (own) => {
        if (unchanged(own, offered)) acknowledge(own, offered, refused);
      });
      if (!sent.length) return attempt("sent", begun.length);
      unknown = true;
      reasons.push(`the study at ${new URL(address).host} does not have this campaign`);
    }
    wait = Math.max(wait, reply.wait ?? 0);
    permanent &&= !!reply.permanent;
  }
  const reason = reasons.filter(Boolean).join("; ");
  const next = await store.change(id, async (own) => {
    const { upload } = own;
    if (!unchanged(own, sent)) return upload.nextAttempt;
    upload.trouble = permanent ? "refused" : unknown ? "unknown_campaign" : "";
    if (!permanent) upload.nextAttempt = Math.max(upload.nextAttempt, now + wait);
    return upload.nextAttempt;
  });
  if (permanent) return attempt("refused", sent.length, `${reason}; the envelopes are kept: save them as a file, or forget the campaign`);
  return attempt(unknown ? "unknown_campaign" : "failed", sent.length, reason, next);
}
