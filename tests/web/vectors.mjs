// Check every case of tests/vectors, as its fields require, and return faults: {topic: [null | text, ...]}. A refusal
// must come at the stage that the case names. node.mjs runs this module in node.

import { openCampaign } from "../../edge_sdk/web/campaign.js";
import { openClosing } from "../../edge_sdk/web/closing.js";
import { channelFrom } from "../../edge_sdk/web/channels/index.js";
import * as codec from "../../edge_sdk/web/codec.js";
import { domainFrom } from "../../edge_sdk/web/domain/index.js";
import { decodeEnvelope, openEnvelope, signedMessage } from "../../edge_sdk/web/envelope.js";
import { BadData, NotInDomain } from "../../edge_sdk/web/errors.js";
import { expLower, larger, levelOf } from "../../edge_sdk/web/exact.js";
import { notionFrom } from "../../edge_sdk/web/notions/index.js";
import { certify } from "../../edge_sdk/web/notions/notion.js";
import { candidatePriors, choiceChannel, nearestPrior } from "../../edge_sdk/web/personal.js";
import { openEnrolment, openReport, pack, sealEnrolment, sealReport, unpack } from "../../edge_sdk/web/report.js";
import { campaignKey, importDeviceSecret, requireSignature, signerOf } from "../../edge_sdk/web/keys.js";

const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));

/** The value as text, in which different types differ. */
const shown = (value) =>
  JSON.stringify(value, (_, one) =>
    typeof one === "bigint" ? `${one}n` : one instanceof Uint8Array ? `bytes ${codec.hex(one)}` : one,
  );

/** The prior and level that a case declares. */
const declaredOf = ({ prior, level }) => prior && { prior, level: BigInt(level) };

/** Throw unless two values have the same text; a browser has no node:assert. */
function equal(found, expected, where = "") {
  if (shown(found) !== shown(expected)) throw new Error(`${where} ${shown(found)} is not ${shown(expected)}`);
}
/** Throw unless a promise is rejected with an error of the class `refusal`. */
async function rejects(promise, refusal) {
  const error = await promise.then(
    () => null,
    (reason) => reason,
  );
  if (!(error instanceof refusal)) throw error ?? new Error(`no ${refusal.name}`);
}
const valueOf = (written) =>
  Array.isArray(written)
    ? written.map(valueOf)
    : written?.bytes !== undefined
      ? bytes(written.bytes)
      : written?.integer !== undefined
        ? BigInt(written.integer)
        : written;

const wire = (text) => codec.decode(bytes(text), 2 ** 22);

/** Convert the inputs of a form's questions into the single input of the form, and back (SPEC 4). */
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

// The author of all campaigns except those of the campaign vectors.
let author = "";
const known = new Map();
const opened = async (data) => {
  if (!known.has(data)) known.set(data, await openCampaign(bytes(data), { trusted: [bytes(author)] }));
  return known.get(data);
};

/** The largest audited level or LDP level of a campaign's views. */
const most = ({ viewCertificates }, name) => viewCertificates.map((one) => one[name]).reduce(larger);

const CHECKS = {
  async campaign(it) {
    const campaign = await openCampaign(bytes(it.campaign), { trusted: it.trusted.map(bytes) });
    equal(codec.hex(campaign.id), it.id);
    equal([campaign.title, campaign.periods, campaign.classes], [it.title, it.periods, it.classes]);
    equal(
      campaign.views.map(({ channel }) => channel.inputCount),
      it.input_counts,
    );
    equal([most(campaign, "audited"), campaign.addresses], [BigInt(it.audited), it.addresses]);
    for (const [language, shown] of Object.entries(it.shown))
      equal(Object.values(campaign.texts(language)), shown, language);
    for (const [language, asked] of Object.entries(it.asked)) {
      const { questions, named } = /** @type {any} */ (campaign.domainIn(language));
      equal(questions?.map((/** @type {any} */ { text, domain }) => [text, domain.named]) ?? named, asked, language);
    }
    equal(
      campaign.costs.map(({ cost }) => cost),
      it.costs.map(BigInt),
    );
    equal(campaign.worstCase, BigInt(it.worst_case));
  },

  /** Compare a campaign's levels, view and texts with those that Python computed. */
  async judged(it) {
    const campaign = await opened(it.campaign);
    const { worstCase, outputBits } = campaign;
    const levels = [most(campaign, "audited"), most(campaign, "ldp")];
    equal([...levels, worstCase].map(String), [it.audited, it.ldp, it.worst_case].map(String));
    equal(outputBits, it.bits);
    for (const [language, names] of Object.entries(it.names)) equal(campaign.domainIn(language).named, names, language);
  },

  async view(it) {
    const campaign = await opened(it.campaign);
    const { domain } = campaign;
    equal([campaign.outputBits, campaign.worstCase], [it.output_bits, BigInt(it.worst_case)]);
    equal([most(campaign, "audited"), most(campaign, "ldp")], [BigInt(it.audited), it.ldp === null ? null : BigInt(it.ldp)]);
    equal(campaign.views.length, it.views.length);
    for (const [place, said] of it.views.entries()) {
      const { map, weight } = campaign.views[place];
      equal(
        said.inputs.map((_, x) => map.input(domain, domain.questions ? split(domain, x) : x)),
        said.inputs,
      );
      equal([weight, campaign.drawsOf(place)], [said.weight, BigInt(said.draws)]);
      const proved = campaign.viewCertificates[place];
      equal(proved.classes.length, said.classes.length);
      for (const [found, one] of [[proved, said], ...said.classes.map((one, c) => [proved.classes[c], one])])
        for (const name of ["declared", "audited", "ldp", "cost"])
          equal(found[name], one[name] === null ? null : BigInt(one[name]), name);
    }
    for (const { public: key, view } of it.keys) equal((await campaign.viewOf(bytes(key))).index, view);
  },

  async closing(it) {
    const campaign = await opened(it.campaign);
    const closes = await openClosing(bytes(it.closing), campaign);
    equal(closes, it.closes);
  },

  async report(it) {
    if ("packed" in it) {
      equal(codec.hex(pack(it.outputs, it.bits)), it.packed);
      equal(unpack(bytes(it.packed), it.outputs.length, it.bits), it.outputs.map(BigInt));
      return;
    }
    const found = await openReport(await opened(it.campaign), bytes(it.report), bytes(it.public));
    equal([found.period, found.slot, found.outputs.map(Number)], [it.period, it.slot, it.outputs]);
  },

  async answer(it) {
    const campaign = await opened(it.campaign);
    const key = await campaignKey(await importDeviceSecret(bytes(it.device_secret)), campaign.id);
    const view = await campaign.viewOf(key.publicKey);
    equal([codec.hex(key.publicKey), view.index], [it.public, it.view]);
    equal(codec.hex(await sealEnrolment(campaign, key, declaredOf(it))), it.enrolment);
    const earlier = [];
    for (const one of it.answers) {
      const classIndex = it.class ?? undefined;
      const priced = view.priced({ classIndex, declared: declaredOf(it) ?? undefined, earlier, period: one.period });
      const x = await view.toInput(one.answer, bytes(it.dither), classIndex);
      equal(view.randomBytes, one.rand.length / 2);
      const output = priced.draw(x, bytes(one.rand));
      equal([x, String(output), priced.cost], [one.input, one.output, BigInt(one.cost)]);
      const report = await sealReport(campaign, key, { period: one.period, slot: one.slot, outputs: [output] });
      equal(codec.hex(report), one.report);
      earlier.push([one.period, output]);
    }
  },

  async enrolment(it) {
    const campaign = it.campaign && (await opened(it.campaign));
    const found = await openEnrolment(bytes(it.enrolment), campaign);
    equal(
      [codec.hex(found.campaignId), codec.hex(found.publicKey), found.declared],
      [it.campaign_id, it.public, declaredOf(it)],
    );
    if (campaign && found.declared) {
      const own = campaign.declaredPrior.channelOf(found.declared, campaign.views[0].channel);
      equal(codec.hex(codec.encode(own.wire)), it.channel);
    }
  },

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
        ? split(domain, x)
            .map((one, place) => `${domain.questions[place].name}=${domain.labelOf(place, one)}`)
            .join("; ")
        : domain.label(x),
    );
    equal(labels, it.labels);
    for (const { answer, dither, input } of it.inside) equal(await inputOf(domain, answer, bytes(dither)), input);
    for (const answer of it.outside) await rejects(domain.indexOf(answer, new Uint8Array(8)), NotInDomain);
    if (domain.kind !== "items")
      for (const [x, label] of labels.entries())
        for (const dither of ["0000000000000000", "ffffffffffffffff"])
          equal(await inputOf(domain, label, bytes(dither)), x, `a label is read as another input`);
  },

  codec(it) {
    const data = bytes(it.bytes);
    const value = codec.decode(data, it.limit ?? 2 ** 16);
    equal(value, valueOf(it.value));
    equal(codec.encode(value), data);
  },

  channel(it) {
    const channel = channelFrom(wire(it.wire));
    const found = [channel.inputCount, channel.outputBits, channel.scale, channel.randomBytes];
    equal(found, [it.input_count, it.output_bits, it.scale, it.rand_bytes]);
    equal(BigInt(it.output_count), channel.unary ? 1n << BigInt(it.input_count) : BigInt(channel.outputCount));
    const output = (y) => (channel.unary ? BigInt(y) : Number(y));
    for (const [x, row] of (it.weights ?? []).entries())
      equal(
        row.map((_, y) => String(channel.weight(x, output(y)))),
        row,
      );
    for (const cell of it.some_weights ?? [])
      equal(String(channel.weight(cell.input, output(cell.output))), cell.weight);
    for (const { input, rand, output: y } of it.draws) {
      equal(channel.draw(input, bytes(rand)), output(y));
      equal(channel.emits(output(y)), true);
    }
  },

  /** Compare outputs with those that Python drew from the same random bytes. */
  draw(it) {
    const channel = channelFrom(wire(it.wire));
    const found = it.draws.map(({ input, rand }) => String(channel.draw(input, bytes(rand))));
    equal(
      found,
      it.draws.map(({ output }) => output),
    );
  },

  /** Require that the bytes are refused if any one bit is flipped. */
  async flipped(it) {
    const data = bytes(it.data);
    const opens = it.public
      ? async (altered) => openReport(await opened(it.campaign), altered, bytes(it.public))
      : (altered) => openCampaign(altered, { trusted: [bytes(author)] });
    await opens(data);
    for (let bit = 0; bit < 8 * data.length; bit++) {
      const altered = data.slice();
      altered[bit >> 3] ^= 1 << (bit & 7);
      await rejects(opens(altered), BadData);
    }
  },

  /** Compare the chosen class or prior with the one that Python chose. */
  choice(it) {
    const priors = it.priors ?? candidatePriors(it.counts.length);
    equal(choiceChannel(priors.length, BigInt(it.level)).sample(nearestPrior(it.counts.map(BigInt), priors), bytes(it.rand)), it.place);
  },

  /** Compare the inputs of answers with those that Python computed; null if it refused the answer. */
  async input(it) {
    const domain = domainFrom(wire(it.wire));
    for (const { answer, dither, input } of it.answers)
      if (input === null) await rejects(domain.indexOf(answer, bytes(dither)), NotInDomain);
      else equal(await domain.indexOf(answer, bytes(dither)), input, answer);
  },

  certificate(it) {
    const notion = notionFrom(wire(it.notion));
    const channel = channelFrom(wire(it.channel));
    if ("steps" in it) equal([notion.steps(channel), channel.numbersHeld], [it.steps, it.held]);
    const found = certify(channel, notion);
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

/** The fault of a case, as text; null if there is none. */
async function fault(topic, it) {
  try {
    await CHECKS[topic](it);
  } catch (error) {
    if (!it.stage || !(error instanceof BadData)) return String(error.stack ?? error);
    return error.stage === it.stage ? null : `refused at ${error.stage}, not at ${it.stage}: ${error.message}`;
  }
  return it.stage ? `not refused at ${it.stage}` : null;
}

/** The fault of each case of each topic. */
export async function faults({ author: whose, ...topics }) {
  author = whose;
  const found = {};
  for (const [topic, cases] of Object.entries(topics)) {
    found[topic] = [];
    for (const it of cases) found[topic].push(await fault(topic, it));
  }
  return found;
}
