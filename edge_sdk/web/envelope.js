/** The envelope: a payload, its kind, a key id and a signature (SPEC 3). Bytes are signed, never re-encoded objects. */

import { Reader, bigEndian, concat, encode, same } from "./codec.js";
import { CodecError, EnvelopeError } from "./errors.js";
import { keyId, requireSignature } from "./keys.js";

export const CAMPAIGN = 1;
export const ENROLMENT = 2;
export const REPORT = 3;
export const CLOSING = 4;

/** The names of the kinds, by number. */
const KINDS = ["", "campaign", "enrolment", "report", "closing"];
/** Maximum bytes of a payload, by kind. */
export const MAX_PAYLOAD = [0, 2 ** 20, 2 ** 10, 2 ** 16, 2 ** 6];

/**
 * A well-formed envelope whose signature is not verified yet.
 * @typedef {{kind: number, keyId: Uint8Array, unverified: Uint8Array, signature: Uint8Array}} Envelope
 */

/**
 * The bytes under the signature (SPEC 3.2).
 * @param {number} kind @param {Uint8Array} id the key id @param {Uint8Array} payload
 * @returns {Uint8Array}
 */
export function signedMessage(kind, id, payload) {
  const context = concat(`halftruth/1/${KINDS[kind]}`);
  return concat(...[context, id, payload].flatMap((part) => [bigEndian(part.length, 4), part]));
}

/**
 * The signed envelope of a payload.
 * @param {number} kind @param {import("./keys.js").Signer} key @param {Uint8Array} payload
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function seal(kind, key, payload) {
  if (payload.length > MAX_PAYLOAD[kind])
    throw new RangeError(`a ${KINDS[kind]} must have at most ${MAX_PAYLOAD[kind]} bytes, not ${payload.length}`);
  return encode([1, kind, key.keyId, payload, await key.sign(signedMessage(kind, key.keyId, payload))]);
}

/** Length in bytes of the envelope of a payload; nothing is signed. @param {number} kind @param {Uint8Array} payload */
export const sealedLength = (kind, payload) =>
  encode([1, kind, new Uint8Array(8), payload, new Uint8Array(64)]).length;

/**
 * Decode the envelope that fills the bytes.
 * @param {Uint8Array} data
 * @returns {Envelope}
 * @throws {CodecError | EnvelopeError} for the first fault in the bytes
 */
export function decodeEnvelope(data) {
  const reader = new Reader(data);
  const expect = (/** @type {number[]} */ expected, /** @type {string} */ rule) => {
    const found = data.subarray(reader.at, reader.at + expected.length);
    if (!same(found, Uint8Array.from(expected.slice(0, found.length)))) throw new EnvelopeError(rule);
    reader.take(expected.length);
  };
  expect([0x95, 1], "the bytes do not begin as an envelope does, with an array of five fields and version 1");
  const [kind] = reader.take(1);
  if (!MAX_PAYLOAD[kind]) throw new EnvelopeError(`an envelope's kind must be one byte, 1 to 4, not ${kind}`);
  expect([0xc4, 8], "the key id is not a byte string of 8 bytes");
  const id = reader.take(8);
  const unverified = reader.bytes(MAX_PAYLOAD[kind], `a payload of kind ${KINDS[kind]}`, EnvelopeError);
  expect([0xc4, 64], "the signature is not a byte string of 64 bytes");
  const signature = reader.take(64);
  if (reader.at !== data.length) throw new CodecError(`there are bytes after the envelope, which ends at byte ${reader.at}`);
  return { kind, keyId: id, unverified, signature };
}

/**
 * Decode an envelope of one kind.
 * @param {Uint8Array} data @param {number} kind @param {import("./errors.js").Refusal} error if it is of another kind
 * @returns {Envelope}
 */
export function decodeKind(data, kind, error) {
  const sealed = decodeEnvelope(data);
  if (sealed.kind !== kind) throw new error(`the envelope has kind ${KINDS[sealed.kind]}, not ${KINDS[kind]}`);
  return sealed;
}

/**
 * Verify an envelope's signature and return its payload.
 * @param {Envelope} sealed @param {Uint8Array} publicKey
 * @returns {Promise<Uint8Array>}
 * @throws {EnvelopeError} it names another key
 * @throws {import("./errors.js").KeyRefused | import("./errors.js").SignatureRefused} as for `requireSignature`
 */
export async function openEnvelope(sealed, publicKey) {
  if (!same(await keyId(publicKey), sealed.keyId))
    throw new EnvelopeError("the envelope names another key than the given one");
  await requireSignature(publicKey, signedMessage(sealed.kind, sealed.keyId, sealed.unverified), sealed.signature);
  return sealed.unverified;
}
