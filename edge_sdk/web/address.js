/** Addresses of studies, and links for people; a host in them has only one spelling (SPEC 7.1). */

import { CampaignError } from "./errors.js";

const NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** True for a name in lower case or an IP address in its shortest form. @param {string} host @returns {boolean} */
function isHost(host) {
  // An IPv4 address within an IPv6 address has two spellings.
  if (/^\[::ffff:[0-9a-f]+:[0-9a-f]+\]$/.test(host)) return false;
  // An IP address must be spelled as the browser spells it.
  if (/^\[.*\]$|^\d+(\.\d+)*$/.test(host))
    return URL.canParse(`http://${host}`) && new URL(`http://${host}`).hostname === host;
  return host.length <= 253 && NAME.test(host) && !/(^|\.)\d+$/.test(host);
}

/**
 * The scheme, the host and the rest of an address or link.
 * @param {string} written @param {string} what @param {number} most
 */
function split(written, what, most) {
  if (written.length > most) throw new CampaignError(`${what} must have at most ${most} characters, not ${written.length}`);
  if (!/^[!-~]*$/.test(written))
    throw new CampaignError(`${what} must be visible ASCII, without blanks`);
  const match = /^(https?):\/\/([^/?#]*?)(?::([1-9]\d{0,4}))?([/?#].*)?$/.exec(written);
  if (!match || Number(match[3] ?? 1) > 65535 || !isHost(match[2]))
    throw new CampaignError(`${what} must begin with https://HOST or https://HOST:PORT, not "${written.slice(0, 40)}"; HOST is a name in lower case or an IP address in its shortest form`);
  return { scheme: match[1], host: match[2], rest: match[4] ?? "" };
}

/**
 * Refuse text that is not an address of a study.
 * @param {string} written
 * @throws {CampaignError} neither a canonical https address, nor http to this machine
 */
export function requireAddress(written) {
  const { scheme, host, rest } = split(written, "an address", 200);
  if (scheme === "http" && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(host))
    throw new CampaignError(`data sent to http://${host} can be read on the way: use https; plain http is for this machine only`);
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(rest) || /\/\.\.?(\/|$)/.test(rest))
    throw new CampaignError(
      `the path of an address must be /NAME/NAME..., of letters, digits and -._~, without / at its end and without the names . and ..; not "${rest.slice(0, 40)}"`,
    );
}

/**
 * Refuse text that is not a link to a page.
 * @param {string} written
 * @throws {CampaignError} not a canonical https address
 */
export function requireLink(written) {
  const { scheme, rest } = split(written, "a link to a web page", 500);
  if (scheme !== "https") throw new CampaignError("a link to a web page must begin with https://, not http://");
  if (!/^([/?#][A-Za-z0-9._~:/?#@!$&'()*+,;=%-]*)?$/.test(rest))
    throw new CampaignError("a link to a web page has a character that is not allowed: write this character as % and two hexadecimal digits");
}
