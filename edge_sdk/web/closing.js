/** The closing notice: signed by a campaign's author, it closes the campaign early (SPEC 7.2). */

import { array, decode, integer, octets, same } from "./codec.js";
import { CLOSING, decodeKind, openEnvelope } from "./envelope.js";
import { CampaignError, ClosedEarly } from "./errors.js";

/**
 * Verify a closing notice under the key of the campaign's author, then parse it.
 * @param {Uint8Array} data @param {import("./campaign.js").Campaign} campaign
 * @returns {Promise<number>} UTC seconds from which the campaign is closed; the earliest of several notices applies
 * @throws {import("./errors.js").BadData} a check failed; the class names the check's stage (SPEC 0)
 */
export async function openClosing(data, campaign) {
  const sealed = decodeKind(data, CLOSING, CampaignError);
  const parts = array(decode(await openEnvelope(sealed, campaign.author)), "a closing notice", CampaignError, 2);
  const id = octets(parts[0], "a campaign id", CampaignError, 16);
  const closes = integer(parts[1], "the time of a closing", CampaignError, 0, 2 ** 40);
  if (!same(id, campaign.id)) throw new CampaignError(`the closing notice is for another campaign: name the closing notice of "${campaign.title}"`);
  if (closes >= campaign.closes) throw new CampaignError(`a closing notice must take effect before "${campaign.title}" closes: this one is not needed`);
  return closes;
}

/**
 * Refuse a consent or an answer at or after an early closing.
 * @param {import("./campaign.js").Campaign} campaign @param {number} closes of the earliest notice @param {number} now
 * @throws {ClosedEarly} `now` is not before it
 */
export function requireOpen(campaign, closes, now) {
  if (closes <= now && now < campaign.closes)
    throw new ClosedEarly(`the author closed "${campaign.title}" early: it accepts no more answers`);
}
