// Reads the files of tests/vectors that it is told, does with every case what its fields ask for, and writes, as JSON,
// what was wrong with each: {topic: [null | text, ...]}. A refusal must come at the stage that the case names.

import { deepStrictEqual as equal, rejects } from "node:assert";
import { readFileSync } from "node:fs";
import { URL } from "node:url";

import { channelFrom } from "../../edge_sdk/web/channels/index.js";
import * as codec from "../../edge_sdk/web/codec.js";
import { domainFrom } from "../../edge_sdk/web/domain/index.js";
import { decodeEnvelope, openEnvelope, signedMessage } from "../../edge_sdk/web/envelope.js";
import { BadData, NotInDomain } from "../../edge_sdk/web/errors.js";
import { expLower, levelOf } from "../../edge_sdk/web/exact.js";
import { notionFrom } from "../../edge_sdk/web/notions/index.js";
import { certify } from "../../edge_sdk/web/notions/notion.js";
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

const wire = (text) => codec.decode(bytes(text), 2 ** 22);

/** The inputs of a form's questions as its one input, and back (SPEC 4). */
const joined = (form, inputs) => inputs.reduce((x, one, place) => x * form.questions[place].size + one, 0);
const split = (form, x) =>
  form.questions
    .toReversed()
    .map(({ size }) => {
      const one = x % size;
      x = (x - one) / size;
      return one;
    })
    .reverse();
const inputOf = async (domain, answer, dither) => {
  const found = await domain.indexOf(answer, dither);
  return domain.questions ? joined(domain, found) : found;
};

const CHECKS = {
  async envelope(it) {
    const sealed = decodeEnvelope(bytes(it.envelope));
    const payload = await openEnvelope(sealed, bytes(it.public));
    equal([sealed.kind, codec.hex(sealed.keyId), codec.hex(payload)], [it.kind, it.key_id, it.payload]);
    equal(codec.hex(signedMessage(sealed.kind, sealed.keyId, payload)), it.signed_message);
  },

  async domain(it) {
    const domain = domainFrom(wire(it.wire));
    const size = domain.questions ? domain.questions.reduce((product, one) => product * one.size, 1) : domain.size;
    equal(size, it.size);
    const labels = Array.from({ length: size }, (_, x) =>
      domain.questions
        ? split(domain, x).map((one, place) => `${domain.questions[place].name}=${domain.labelOf(place, one)}`).join("; ")
        : domain.label(x),
    );
    equal(labels, it.labels);
    for (const { answer, dither, input } of it.inside) equal(await inputOf(domain, answer, bytes(dither)), input);
    for (const answer of it.outside) await rejects(domain.indexOf(answer, new Uint8Array(8)), NotInDomain);
    if (domain.kind !== "items") for (const [x, label] of labels.entries())
      for (const dither of ["0000000000000000", "ffffffffffffffff"])
        equal(await inputOf(domain, label, bytes(dither)), x, `a label leads elsewhere`);
  },

  codec(it) {
    const data = bytes(it.bytes);
    const value = codec.decode(data, it.limit ?? 2 ** 16);
    equal(value, valueOf(it.value));
    equal(codec.encode(value), data);
  },

  channel(it) {
    const channel = channelFrom(wire(it.wire));
    const found = [channel.inputs, channel.outputBits, channel.scale, channel.randomBytes];
    equal(found, [it.inputs, it.output_bits, it.scale, it.rand_bytes]);
    equal(BigInt(it.outputs), channel.unary ? 1n << BigInt(it.inputs) : BigInt(channel.outputs));
    const output = (y) => (channel.unary ? BigInt(y) : Number(y));
    for (const [x, row] of (it.weights ?? []).entries())
      equal(row.map((_, y) => String(channel.weight(x, output(y)))), row);
    for (const cell of it.some_weights ?? [])
      equal(String(channel.weight(cell.input, output(cell.output))), cell.weight);
    for (const { input, rand, output: y } of it.draws) {
      equal(channel.draw(input, bytes(rand)), output(y));
      equal(channel.emits(output(y)), true);
    }
  },

  certificate(it) {
    const notion = notionFrom(wire(it.notion));
    const found = certify(channelFrom(wire(it.channel)), notion);
    for (const name of ["declared", "audited", "ldp", "cost", "ball"])
      equal(found[name], it[name] === null ? null : BigInt(it[name]), name);
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
