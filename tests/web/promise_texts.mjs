// The promises and bounds that a page shows for campaigns; a test compares them with those of the Python device.

import { openCampaign } from "../../edge_sdk/web/campaign.js";
import { revealed } from "../../edge_sdk/web/disclosure.js";
import { promised, useLanguage } from "../../edge_sdk/web/page/say.js";
import { factorAbove, promiseOf } from "../../edge_sdk/web/promise.js";
import { bytes } from "./device.mjs";

/** The promise of each campaign to each of its classes, in every language. */
export async function promises(campaigns, trust, texts) {
  const found = [];
  for (const data of campaigns) {
    const campaign = await openCampaign(bytes(data), { trusted: trust.map(bytes) });
    for (const place of campaign.classes.length ? [undefined, ...campaign.classes.keys()] : [undefined]) {
      const promise = promiseOf(campaign.notion, campaign.certificateOf(0, place ?? 0), place);
      found.push(
        Object.keys(texts).map((language) => {
          useLanguage(texts, language);
          return promised(promise, campaign.answersPerPeriod);
        }),
      );
    }
  }
  return found;
}

export const factors = (levels) => levels.map((level) => factorAbove(BigInt(level)));

/** For each campaign and each answer in its first view and class, the disclosure by one report: four fractions. */
export async function revelations(campaigns, trust, counts) {
  const found = [];
  for (const data of campaigns) {
    const campaign = await openCampaign(bytes(data), { trusted: trust.map(bytes) });
    const [{ ldp }, whole] = [campaign.certificateOf(0, 0), campaign.views[0].channel];
    const channel = campaign.classes.length ? whole.inner[0] : whole;
    const inputs = [null, ...Array(Math.min(channel.inputCount, 8)).keys()];
    found.push(
      inputs.map((x) => {
        const bounds = revealed(channel, ldp, new Map(counts), x);
        return ["before", "after", "fitsTrue", "fitsOther"].map((name) => bounds[name] && [String(bounds[name].n), String(bounds[name].d)]);
      }),
    );
  }
  return found;
}
