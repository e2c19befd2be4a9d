/** Recovery after the clock ran ahead and was set back. */

import { costOf, requireWindows } from "./caps.js";
import { usedSlots } from "./memo.js";

/**
 * Accept the clock's current time as correct, if the clock was ahead before: campaigns whose consent has a later date
 * take answers again. Spending and used slots stay. Each window's cap must leave room for the worst case from now on
 * and for the cost of the answers with later dates. A later consent does not count these answers: they and the answers
 * of the new campaign may together exceed a window's cap.
 * @param {import("./device.js").Device} device
 * @returns {Promise<Uint8Array[]>} ids of the campaigns whose recorded time was later; a transcript still continues
 *   only after its latest report
 * @throws {import("./errors.js").BudgetRefused} a window's cap leaves no room: wait, or forget a campaign
 */
export function setClock(device) {
  const { now, store } = device;
  return store.locked(async () => {
    const state = await store.read();
    const late = [];
    let ahead = 0n;
    for (const kept of state.campaigns.values()) {
      const { id, consent } = kept;
      if (!consent) continue;
      const { opens, periodSeconds } = (await device.member(id)).campaign;
      ahead += costOf(consent.commitment, usedSlots(kept, Math.floor((now - opens) / periodSeconds)));
      if (consent.floor > now) late.push({ id, consent });
    }
    if (late.length) requireWindows(state, now, ahead);
    for (const { consent } of late) Object.assign(consent, { time: Math.min(consent.time, now), floor: now });
    await store.commit(state.revision, (_, campaigns) => state.campaigns.forEach((kept, key) => campaigns.put(kept, key)));
    return late.map(({ id }) => id);
  });
}
