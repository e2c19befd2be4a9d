/**
 * Ed25519 keys and signatures (SPEC 2). WebCrypto computes on the curve; checks here make every library verify
 * alike.
 */

import { concat, toBig } from "./codec.js";
import { KeyRefused, SignatureRefused, Unsupported } from "./errors.js";

/**
 * A secret key that signs: its public key, the id of this key, and the function that returns a message's signature.
 * @typedef {{publicKey: Uint8Array, keyId: Uint8Array, sign: (message: Uint8Array) => Promise<Uint8Array>}} Signer
 */

const FIELD = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const OF_ORDER_8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
const SMALL = [0n, 1n, FIELD - 1n, OF_ORDER_8, FIELD - OF_ORDER_8];
const ED25519 = "Ed25519";
// The DER encoding of a PKCS #8 Ed25519 key (RFC 8410) up to its 32 secret bytes.
const PKCS8 = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/** The browser's WebCrypto. @returns {SubtleCrypto} @throws {Unsupported} it has none */
function subtle() {
  const found = globalThis.crypto?.subtle;
  if (!found) throw new Unsupported("this page has no WebCrypto: open it by https, in a current browser");
  return found;
}

/**
 * Wait for the browser.
 * @template T @param {Promise<T>} promise @returns {Promise<T>} @throws {Unsupported} it has no Ed25519
 */
async function supported(promise) {
  try {
    return await promise;
  } catch (error) {
    if (/** @type {Error} */ (error).name !== "NotSupportedError") throw error;
    throw new Unsupported("this page has no Ed25519: open it by https, in a current browser");
  }
}

/**
 * Refuse a point that is not canonical or of small order.
 * @param {Uint8Array} encoded @param {string} what @param {import("./errors.js").Refusal} error
 */
function requirePoint(encoded, what, error) {
  const y = toBig(encoded.slice().reverse()) & (2n ** 255n - 1n);
  if (y >= FIELD) throw new error(`${what} is not canonical: its y must be below 2^255 - 19`);
  if (SMALL.includes(y)) throw new error(`${what} must not be a point of small order`);
}

/**
 * Refuse a public key under which no signature can be trusted.
 * @param {Uint8Array} publicKey
 * @throws {KeyRefused} wrong length, not canonical, or of small order
 */
export function requirePublic(publicKey) {
  if (publicKey.length !== 32) throw new KeyRefused(`a public key must be 32 bytes, not ${publicKey.length}`);
  requirePoint(publicKey, "the public key", KeyRefused);
}

/**
 * The SHA-256 hash of bytes.
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>} 32 bytes
 */
export const sha256 = async (bytes) => new Uint8Array(await subtle().digest("SHA-256", concat(bytes)));

/**
 * The key id of a public key, 8 bytes.
 * @param {Uint8Array} publicKey
 * @returns {Promise<Uint8Array>}
 */
export const keyId = async (publicKey) => (await sha256(publicKey)).slice(0, 8);

/**
 * Refuse a signature that does not verify.
 * @param {Uint8Array} publicKey @param {Uint8Array} message @param {Uint8Array} signature
 * @returns {Promise<void>}
 * @throws {KeyRefused} the key must not be used at all
 * @throws {SignatureRefused} a wrong length, S >= L, R not canonical or of small order, or the equation does not hold
 */
export async function requireSignature(publicKey, message, signature) {
  requirePublic(publicKey);
  if (signature.length !== 64) throw new SignatureRefused(`a signature must be 64 bytes, not ${signature.length}`);
  if (toBig(signature.slice(32).reverse()) >= ORDER)
    throw new SignatureRefused("the signature's S must be below the group order (SPEC 2.1)");
  requirePoint(signature.slice(0, 32), "the signature's R", SignatureRefused);
  let good = false;
  try {
    const key = await supported(subtle().importKey("raw", concat(publicKey), ED25519, false, ["verify"]));
    good = await subtle().verify(ED25519, key, concat(signature), concat(message));
  } catch (error) {
    // Any other error means that the bytes are not a point of the curve.
    if (error instanceof Unsupported) throw error;
  }
  if (!good) throw new SignatureRefused("the signature does not verify: the bytes were altered, or another key signed them");
}

/**
 * The signing key of 32 secret bytes.
 * @param {Uint8Array} secret
 * @returns {Promise<Signer>}
 */
export async function signerOf(secret) {
  if (secret.length !== 32) throw new RangeError(`a secret key must be 32 bytes, not ${secret.length}`);
  const load = (/** @type {boolean} */ readable) =>
    supported(subtle().importKey("pkcs8", concat(PKCS8, secret), ED25519, readable, ["sign"]));
  // WebCrypto has no other way to get the public key.
  const { x } = await subtle().exportKey("jwk", await load(true));
  const key = await load(false);
  const binary = atob(String(x).replace(/-/g, "+").replace(/_/g, "/"));
  const publicKey = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const sign = async (/** @type {Uint8Array} */ message) =>
    new Uint8Array(await subtle().sign(ED25519, key, concat(message)));
  return { publicKey, keyId: await keyId(publicKey), sign };
}

/**
 * Import the device secret as a key whose bytes cannot be read again.
 * @param {Uint8Array} secret 32 random bytes
 * @returns {Promise<CryptoKey>}
 */
export async function importDeviceSecret(secret) {
  if (secret.length !== 32) throw new RangeError(`a device secret must be 32 bytes, not ${secret.length}`);
  return subtle().importKey("raw", concat(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

/**
 * The key of a device in one campaign (SPEC 2.2).
 * @param {CryptoKey} deviceSecret of importDeviceSecret
 * @param {Uint8Array} campaignId 16 bytes
 * @returns {Promise<Signer>}
 */
export async function campaignKey(deviceSecret, campaignId) {
  const secret = await subtle().sign("HMAC", deviceSecret, concat("halftruth/1/device-key", campaignId));
  return signerOf(new Uint8Array(secret));
}
