// Functions that tests call on a device in a page; their results are JSON values.

import { hex } from "../../edge_sdk/web/codec.js";
import { chooseClass, choosePrior } from "../../edge_sdk/web/choosing.js";
import { setClock } from "../../edge_sdk/web/clock.js";
import { Device } from "../../edge_sdk/web/device.js";
import { lowerCaps } from "../../edge_sdk/web/lowering.js";

export const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));

/** The value as JSON: levels as text, bytes as hexadecimal digits. */
const plain = (value) =>
  JSON.parse(
    JSON.stringify(value ?? null, (_, one) =>
      typeof one === "bigint" ? String(one) : one instanceof Uint8Array ? hex(one) : one,
    ),
  );

const given = (one) => (one?.bytes === undefined ? (one ?? undefined) : bytes(one.bytes));
/** The caps of JSON, with levels as BigInt. */
const levels = ({ lifetime, campaign, window }) => ({
  lifetime: BigInt(lifetime),
  campaign: campaign && BigInt(campaign),
  window: window && { seconds: window.seconds, nanonats: BigInt(window.nanonats) },
});

/** The functions that a page imports in addition to the device. */
const BESIDE = { chooseClass, choosePrior, setClock, lowerCaps };

/**
 * Run steps one after another, each at its time; a refused step gives the name of its error. If steps have `rand`, each
 * draw of random bytes in a step takes the first bytes of the step's `rand`. The `rand` of the first step gives the
 * device's secret.
 */
export async function run({ name, trust, ...rest }, [first, ...steps]) {
  let at = first;
  const random = first.rand === undefined ? undefined : (count) => bytes(at.rand).slice(0, count);
  const device = await Device.open({ name, trust: trust.map(bytes), clock: () => at.now, random, ...rest });
  const found = [];
  for (at of steps) {
    try {
      const args = at.what === "lowerCaps" ? at.given.map(levels) : at.given.map(given);
      const beside = BESIDE[at.what];
      found.push(plain(await (beside ? beside(device, ...args) : device[at.what](...args))));
    } catch (error) {
      found.push({ refused: error.name, message: error.message });
    }
  }
  const held = await holds(device);
  device.close();
  return [found, held];
}

/** The content of the store: the ledger and, for each campaign, the waiting envelopes and the answers. */
async function holds(device) {
  const campaigns = {};
  for (const id of await device.campaigns()) campaigns[hex(id)] = plain([await device.waiting(id), await device.history(id)]);
  const ledger = (await device.ledger()).map(({ time, campaignId, kind, nanonats }) => [time, campaignId, kind, nanonats]);
  return { ledger: plain(ledger), campaigns };
}

/**
 * Answer one new value after another, each in the next slot, until the tab dies. Each envelope is reported at once, and
 * every eighth answer is followed by an upload.
 */
export async function answersOn({ name, trust, now, id, values }) {
  const device = await Device.open({ name, trust: trust.map(bytes), clock: () => now });
  for (const [i, value] of values.entries()) {
    navigator.sendBeacon("/said", (await device.answer(bytes(id), value)).envelope);
    if (i % 8 === 7) await device.send();
  }
}

/**
 * The observable behaviour of each device, which answers one value in each period: the number of random bytes of each
 * draw, the refusals, and the lengths of the waiting envelopes. Before the last value, a cap is lowered below the
 * reserved amount.
 */
export const seen = async (...people) => {
  const found = [];
  for (const person of people) found.push(await seenOf(person));
  return found;
};

async function seenOf({ name, trust, data, role, times, values, secret }) {
  const drawn = [];
  const random = (count) => {
    drawn.push(count);
    return count === 32 ? bytes(secret) : crypto.getRandomValues(new Uint8Array(count));
  };
  let now = times[0];
  const device = await Device.open({ name, trust: trust.map(bytes), clock: () => now, random });
  await lowerCaps(device, { lifetime: 10n ** 15n });
  const { campaignId } = await device.join(bytes(data));
  await device.consent(campaignId, role);
  const became = [];
  for (const [i, value] of values.entries()) {
    now = times[i];
    if (i === values.length - 1) await lowerCaps(device, { lifetime: 1n });
    became.push(await device.answer(campaignId, value).then(() => "answered", (error) => error.name));
  }
  const lengths = (await device.waiting(campaignId)).map(({ length }) => length);
  device.close();
  indexedDB.deleteDatabase(name);
  return [drawn, became, lengths];
}

/** The records of a campaign, as they are in the database. */
export async function records(name, id) {
  const opened = await new Promise((resolve) => {
    const opening = indexedDB.open(name);
    opening.onsuccess = () => resolve(opening.result);
  });
  const found = [];
  for (const place of ["campaigns", "signed"])
    found.push(
      await new Promise((resolve) => {
        const asked = opened.transaction(place).objectStore(place).get(id);
        asked.onsuccess = () => resolve(asked.result ?? null);
      }),
    );
  opened.close();
  const [kept, signed] = found;
  return plain([{ ...kept, memo: [...kept.memo], used: [...kept.used] }, signed]);
}

/** Let people answer once each, in parallel, with the given random bytes; return the waiting envelopes of each. */
export const crowd = ({ trust, now, data, people }) =>
  Promise.all(
    people.map(async ({ name, value, rands }) => {
      const random = (count) => {
        const rand = bytes(rands.shift());
        if (rand.length !== count) throw new Error(`the device requests ${count} random bytes, but ${rand.length} are next`);
        return rand;
      };
      const device = await Device.open({ name, trust: trust.map(bytes), clock: () => now, random });
      const { campaignId } = await device.join(bytes(data));
      await device.consent(campaignId);
      await device.answer(campaignId, value);
      const sent = await device.waiting(campaignId);
      device.close();
      indexedDB.deleteDatabase(name);
      return sent.map(hex).join("");
    }),
  );
