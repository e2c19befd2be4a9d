/** Reports and enrolments: the envelopes that a device sends (SPEC 8). */

import { array, bigEndian, decode, encode, integer, octets, same, toBig } from "./codec.js";
import { ENROLMENT, REPORT, decodeKind, openEnvelope, seal } from "./envelope.js";
import { ReportError } from "./errors.js";
import { declaredFrom, declaredWire } from "./notions/information.js";

/** @typedef {import("./campaign.js").Campaign} Campaign */
/** @typedef {import("./keys.js").Signer} Signer */
/**
 * The content of a report: its outputs, in order, and the period and the slot of the first one.
 * @typedef {{period: number, slot: number, outputs: (number | bigint)[]}} Answers
 */

/**
 * Pack outputs of `bits` bits each, most significant bit first, zero-padded at the end.
 * @param {(number | bigint)[]} outputs @param {number} bits
 * @returns {Uint8Array}
 */
export function pack(outputs, bits) {
  let number = 0n;
  for (const output of outputs) {
    if (output < 0 || output >= 2n ** BigInt(bits))
      throw new ReportError(`an output of this campaign must be below 2^${bits}`);
    number = (number << BigInt(bits)) | BigInt(output);
  }
  const length = Math.ceil((outputs.length * bits) / 8);
  return bigEndian(number << BigInt(8 * length - bits * outputs.length), length);
}

/**
 * Unpack outputs: the inverse of `pack`.
 * @param {Uint8Array} packed @param {number} count @param {number} bits
 * @returns {bigint[]}
 */
export function unpack(packed, count, bits) {
  const padding = 8 * packed.length - bits * count;
  const number = toBig(packed);
  if (padding < 0 || padding > 7 || BigInt.asUintN(padding, number))
    throw new ReportError(`the bytes are not ${count} x ${bits} bits of outputs, padded with zeros at the end`);
  return Array.from({ length: count }, (_, i) =>
    BigInt.asUintN(bits, number >> BigInt(padding + bits * (count - 1 - i))),
  );
}

/**
 * Refuse outputs or slots that a report of this device cannot have.
 * @param {Campaign} campaign @param {Answers} answers @param {number} view
 */
function requireFit(campaign, { period, slot, outputs }, view) {
  integer(period, "the period of a report", ReportError, 0, campaign.periods - 1);
  integer(outputs.length, "the number of outputs", ReportError, 1, campaign.answersPerPeriod);
  integer(slot + outputs.length - 1, "the last slot of a report", ReportError, 0, campaign.slots(period) - 1);
  const { channel } = campaign.views[view];
  if (!outputs.every((y) => channel.emits(y)))
    throw new ReportError("each output must be an output of the channel of the device's view");
}

/**
 * The signed envelope of a report; the same arguments give the same bytes.
 * @param {Campaign} campaign @param {Signer} key the device's key in the campaign
 * @param {Answers} answers outputs of the channel of its view, for the slots from `slot` on
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 * @throws {ReportError} the answers do not fit the campaign
 */
export async function sealReport(campaign, key, answers) {
  const { period, slot, outputs } = answers;
  requireFit(campaign, answers, (await campaign.viewOf(key.publicKey)).index);
  const packed = pack(outputs, campaign.outputBits);
  return seal(REPORT, key, encode([campaign.id, period, slot, outputs.length, packed]));
}

/**
 * Verify a report's signature and return its content, to show a person the data that leave their device.
 * @param {Campaign} campaign @param {Uint8Array} data an envelope @param {Uint8Array} publicKey
 * @returns {Promise<Answers>}
 * @throws {import("./errors.js").BadData} a check failed; the class names the check's stage (SPEC 0)
 */
export async function openReport(campaign, data, publicKey) {
  const sealed = decodeKind(data, REPORT, ReportError);
  const parts = array(decode(await openEnvelope(sealed, publicKey)), "a report", ReportError, 5);
  const id = octets(parts[0], "a campaign id", ReportError, 16);
  const period = integer(parts[1], "a period", ReportError, 0, 2 ** 32 - 1);
  const slot = integer(parts[2], "a slot", ReportError, 0, 2 ** 16 - 1);
  const count = integer(parts[3], "the number of outputs", ReportError, 1, 4096);
  const packed = octets(parts[4], "the outputs", ReportError);
  if (!same(id, campaign.id)) throw new ReportError("the report belongs to another campaign");
  const { index, channel } = await campaign.viewOf(publicKey);
  const outputs = unpack(packed, count, campaign.outputBits).map((y) => (channel.unary ? y : Number(y)));
  requireFit(campaign, { period, slot, outputs }, index);
  return { period, slot, outputs };
}

/** @typedef {import("./notions/information.js").Declared} Declared */

/**
 * Refuse an enrolment with a prior that the campaign does not ask for, or without one that it asks for.
 * @param {Campaign} campaign @param {Declared | null} declared
 */
function requirePrior(campaign, declared) {
  const asked = campaign.declaredPrior?.size ?? 0;
  if (!declared !== !asked)
    throw new ReportError(asked ? `an enrolment in this campaign must declare a prior of ${asked} values` : "this campaign takes no declared prior: enrol without one");
  if (declared) campaign.declaredPrior?.requireFit(declared);
}

/** The payload of an enrolment. @param {Campaign} campaign @param {Signer} key @param {Declared | null} declared */
export const enrolmentPayload = ({ id }, { publicKey }, declared) =>
  encode([id, publicKey, ...(declared ? [declaredWire(declared)] : [])]);

/**
 * The signed envelope with which a device introduces its key.
 * @param {Campaign} campaign @param {Signer} key
 * @param {Declared | null} [declared] the prior, in a campaign for declared priors; public
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function sealEnrolment(campaign, key, declared = null) {
  requirePrior(campaign, declared);
  return seal(ENROLMENT, key, enrolmentPayload(campaign, key, declared));
}

/**
 * Verify an enrolment's signature under the key that it introduces, and return its content.
 * @param {Uint8Array} data @param {Campaign} [campaign] that it must fit
 * @returns {Promise<{campaignId: Uint8Array, publicKey: Uint8Array, declared: Declared | null}>}
 * @throws {import("./errors.js").BadData} a check failed; the class names the check's stage (SPEC 0)
 */
export async function openEnrolment(data, campaign) {
  const sealed = decodeKind(data, ENROLMENT, ReportError);
  const value = decode(sealed.unverified);
  const parts = array(value, "an enrolment", ReportError, Array.isArray(value) && value.length === 3 ? 3 : 2);
  const publicKey = octets(parts[1], "a public key", ReportError, 32);
  const campaignId = octets(parts[0], "a campaign id", ReportError, 16);
  const declared = parts.length === 3 ? declaredFrom(parts[2]) : null;
  await openEnvelope(sealed, publicKey);
  if (campaign) requirePrior(campaign, declared);
  return { campaignId, publicKey, declared };
}
