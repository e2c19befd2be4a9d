/** The terms of a joined campaign and the possible disclosure by one report, for the person. Nothing is changed. */

import { considered } from "./answering.js";
import { revealed } from "./disclosure.js";
import { larger, less } from "./exact.js";
import { nextSlot } from "./memo.js";
import { promiseOf } from "./promise.js";

/** @typedef {import("./joined.js").Joined} Joined */
/** @typedef {import("./store.js").Kept} Kept */

/**
 * The addresses for the reports, in the order in which they are tried.
 * @param {Joined} joined @param {Kept} kept
 * @returns {string[]}
 */
export function addressesOf({ campaign }, { joined }) {
  if (campaign.addresses.length) return campaign.addresses;
  return joined?.address ? [joined.address] : [];
}

/**
 * The current period; before the opening the first. After the closing it may be a period beyond the last.
 * @param {import("./campaign.js").Campaign} campaign @param {number} now
 */
const periodNear = ({ opens, periodSeconds }, now) => Math.max(0, Math.floor((now - opens) / periodSeconds));

/**
 * The terms, and the state of the campaign. Before consent, costs are those of the most expensive view; in a campaign for
 * declared priors, those of the declared prior, or of the uniform prior if none is declared. `asked` is null before
 * consent, because a refusal that depends on the assigned questions would reveal them.
 * @param {Joined} joined @param {Kept} kept @param {number} now @param {string} language
 */
export function termsOf(joined, kept, now, language) {
  const { campaign, view } = joined;
  const { consent } = kept;
  const { opens, periodSeconds, answersPerPeriod } = campaign;
  const { cost, worstCase } = joined.stated(kept);
  const ends = kept.closes ?? campaign.closes;
  const period = periodNear(campaign, now);
  const next = opens + (period + Number(now >= opens)) * periodSeconds;
  const proved = campaign.views.map((_, place) => campaign.certificateOf(place, consent?.classIndex ?? 0));
  const certificate = { ...proved[0], ldp: proved.map(({ ldp }) => ldp).reduce(larger) };
  return {
    campaignId: campaign.id,
    texts: language ? campaign.texts(language) : campaign.ownTexts,
    /** The labels in the campaign's original language, in the order of `texts.labels`. */
    labels: campaign.ownTexts.labels,
    domain: campaign.domain.describe(),
    /** The domain in the language of the texts; answers use the labels of `domain`. */
    shown: (language ? campaign.domainIn(language) : campaign.domain).describe(),
    notion: campaign.notion.name,
    promise: promiseOf(campaign.notion, certificate, consent?.classIndex),
    cost,
    worstCase,
    opens,
    closes: campaign.closes,
    /** The time from which no answer is taken: the early closing, which is before `closes`, or else `closes`. */
    ends,
    periodSeconds,
    answersPerPeriod,
    /** Number of answers left in this period. */
    left: now < opens || now >= ends ? 0 : answersPerPeriod - nextSlot(kept, period),
    /** Start of the next period; null from the last period on. */
    nextPeriod: next < ends ? next : null,
    enrolled: campaign.enrolled,
    coded: kept.code !== "" || kept.admitted,
    classes: campaign.classes,
    /** The worst case of each class; without classes, a single one. */
    worstCases: campaign.costs.map(({ worstCase }) => worstCase),
    /** True if the person must declare a prior and has not declared one before. */
    needsPrior: campaign.declaredPrior !== null && !kept.declared,
    view: view.index,
    addresses: addressesOf(joined, kept),
    consented: consent !== null,
    classIndex: consent?.classIndex ?? null,
    asked: consent && view.questions.length ? view.questions : null,
  };
}

/**
 * The possible disclosure by one report, and the label under which the answer counts. Before consent it is for the
 * class and, for a form, for the view in which a report reveals most: the device's own view would reveal its questions.
 * Until a prior is declared, it is for the uniform one.
 * @param {Joined} joined @param {Kept} kept @param {number} now @param {import("./domain/domain.js").Answer} [value]
 * @returns {Promise<import("./disclosure.js").Revealed & {label: string}>}
 */
export async function revealsOf(joined, kept, now, value) {
  const { campaign, view } = joined;
  const { consent, memo, declared, transcript } = kept;
  const { classes, notion, views } = campaign;
  const classIndex = consent?.classIndex ?? 0;
  const first = classIndex * view.inputCount;
  const x = await considered(joined, kept, value);
  const role = { classIndex, declared: declared ?? campaign.declaredPrior?.uniform, earlier: transcript, period: periodNear(campaign, now) };
  const places = view.questions.length && !consent ? [...views.keys()] : [view.index];
  // A channel made for a prior bounds the lift of each answer, so the ratio of two answers is within twice that level.
  const made = campaign.declaredPrior || campaign.transcript ? 2n * (declared?.level || notion.level) : undefined;
  const counts = new Map([...memo].map(([input, { times }]) => [input - first, times]));
  const own = consent || !classes.length ? [classIndex] : [...classes.keys()];
  // Many views may have the same channel.
  const channels = new Map(places.map((place) => [campaign.pricedOf(place, role).channel, place]));
  /** @type {import("./disclosure.js").Revealed | undefined} */
  let most;
  for (const [channel, place] of channels)
    for (const one of own) {
      const inner = classes.length ? /** @type {any} */ (channel).inner[one] : channel;
      const ldp = made ?? campaign.certificateOf(place, one).ldp;
      const bounds = revealed(inner, ldp, counts, x === null ? null : x - first);
      if (!most || less(most.after, bounds.after)) most = bounds;
    }
  return { .../** @type {import("./disclosure.js").Revealed} */ (most), label: x === null ? "" : view.label(x - first) };
}
