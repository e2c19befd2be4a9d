/** The caps that a page sets. A cap can only be lowered; only the default lifetime cap may be replaced by a higher one. */

/** @typedef {import("./store.js").Cap} Cap */
/** @typedef {{lifetime?: bigint, campaign?: bigint, window?: import("./caps.js").WindowCap}} Policy nanonats */

/** A million nats, in nanonats. */
const MOST = 10n ** 15n;

/**
 * Lower the caps of a device; of two caps of the same kind, and of the same length if they are for windows, the lower
 * one applies.
 * @param {import("./device.js").Device} device @param {Policy} policy
 * @returns {Promise<void>} once they are on the disk
 * @throws {RangeError} the policy has an invalid cap
 */
export function lowerCaps({ store }, policy) {
  return store.locked(async () => {
    const { caps, revision } = await store.read();
    const lowered = lowest(caps, policy);
    await store.commit(revision, (device) => device.put(lowered, "caps"));
  });
}

/**
 * The caps of a policy.
 * @param {Policy} policy @returns {Cap[]}
 */
function capsOf({ lifetime, campaign, window }) {
  const seconds = window?.seconds ?? 1;
  if (!(Number.isInteger(seconds) && seconds >= 1 && seconds <= 2 ** 40))
    throw new RangeError(`a cap on a window must have a whole number of seconds from 1 to 2^40, not ${seconds}`);
  /** @type {{kind: Cap["kind"], seconds: number, nanonats: bigint | undefined}[]} */
  const named = [
    { kind: "campaign", seconds: 0, nanonats: campaign },
    { kind: "lifetime", seconds: 0, nanonats: lifetime },
    { kind: "window", seconds, nanonats: window?.nanonats },
  ];
  return named.flatMap(({ nanonats, ...cap }) => {
    if (nanonats === undefined && !(window && cap.kind === "window")) return [];
    if (typeof nanonats !== "bigint" || nanonats < 0n || nanonats > MOST)
      throw new RangeError(`the ${cap.kind} cap must be a bigint of nanonats from 0 to 10^15, not ${nanonats}`);
    return [{ ...cap, nanonats }];
  });
}

/**
 * The caps together with those of a policy; of two caps of the same kind and length, the lower one.
 * @param {Cap[]} caps @param {Policy} policy @returns {Cap[]} sorted by kind and seconds
 */
function lowest(caps, policy) {
  const found = new Map(caps.map((cap) => [`${cap.kind} ${cap.seconds}`, cap]));
  for (const cap of capsOf(policy)) {
    const key = `${cap.kind} ${cap.seconds}`;
    const known = found.get(key);
    if (!known || cap.nanonats < known.nanonats) found.set(key, cap);
  }
  return [...found.values()].sort((one, other) => (one.kind < other.kind ? -1 : one.kind > other.kind ? 1 : one.seconds - other.seconds));
}
