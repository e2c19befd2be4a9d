// Reads the files of tests/vectors that it is told, does with every case what its fields ask for, and writes, as JSON,
// what was wrong with each: {topic: [null | text, ...]}. A refusal must come at the stage that the case names.

import { deepStrictEqual as equal } from "node:assert";
import { readFileSync } from "node:fs";
import { URL } from "node:url";

import * as codec from "../../edge_sdk/web/codec.js";
import { BadData } from "../../edge_sdk/web/errors.js";
import { expLower, levelOf } from "../../edge_sdk/web/exact.js";
import { campaignKey, importDeviceSecret, requireSignature, signerOf } from "../../edge_sdk/web/keys.js";

const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));
const valueOf = (written) =>
  Array.isArray(written)
    ? written.map(valueOf)
    : written?.bytes !== undefined
      ? bytes(written.bytes)
      : written?.integer !== undefined
        ? BigInt(written.integer)
        : written;

const CHECKS = {
  codec(it) {
    const data = bytes(it.bytes);
    const value = codec.decode(data, it.limit ?? 2 ** 16);
    equal(value, valueOf(it.value));
    equal(codec.encode(value), data);
  },

  level(it) {
    if ("exp_lower" in it) equal(String(expLower(BigInt(it.level))), it.exp_lower);
    else equal(levelOf(BigInt(it.numerator), BigInt(it.denominator)), it.level === null ? null : BigInt(it.level));
  },

  async keys(it) {
    if ("device_secret" in it) {
      const secret = await importDeviceSecret(bytes(it.device_secret));
      equal(secret.extractable, false);
      const key = await campaignKey(secret, bytes(it.campaign_id));
      equal(codec.hex(key.publicKey), it.public);
      return;
    }
    if ("secret" in it) {
      const key = await signerOf(bytes(it.secret));
      equal([codec.hex(key.publicKey), codec.hex(key.keyId)], [it.public, it.id]);
      equal(codec.hex(await key.sign(bytes(it.message))), it.signature);
    }
    await requireSignature(bytes(it.public), bytes(it.message), bytes(it.signature));
  },
};

/** What is wrong with a case, or null. */
async function fault(topic, it) {
  try {
    await CHECKS[topic](it);
  } catch (error) {
    if (!it.stage || !(error instanceof BadData)) return String(error.stack ?? error);
    return error.stage === it.stage ? null : `refused at ${error.stage}, not at ${it.stage}: ${error.message}`;
  }
  return it.stage ? `not refused at ${it.stage}` : null;
}

const found = {};
for (const [topic, cases] of Object.entries(JSON.parse(readFileSync(0, "utf-8")))) {
  found[topic] = [];
  for (const it of cases) found[topic].push(await fault(topic, it));
}
console.log(JSON.stringify(found));
