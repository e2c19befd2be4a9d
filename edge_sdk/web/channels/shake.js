/** SHAKE-128 (FIPS 202), which WebCrypto lacks, on 32-bit halves of its 64-bit lanes. */

const RATE = 168;
// For each step of rho and pi: the position of the written lane, and its rotation.
const LANES = new Int32Array(24);
const TURNS = new Int32Array(24);
for (let x = 1, y = 0, t = 0; t < 24; t++) {
  [x, y] = [y, (2 * x + 3 * y) % 5];
  LANES[t] = 2 * (x + 5 * y);
  TURNS[t] = (((t + 1) * (t + 2)) / 2) % 64;
}
// The round constants of iota, low and high halves.
const ROUNDS = new Int32Array(48);
for (let round = 0, bits = 1; round < 24; round++)
  for (let j = 0; j < 7; j++) {
    bits = ((bits << 1) ^ ((bits >> 7) * 0x71)) & 255;
    if (bits & 2) ROUNDS[2 * round + Number(j === 6)] ^= 1 << ((1 << j) - 1);
  }

/**
 * Apply the 24 rounds of Keccak-f[1600], in place.
 * @param {Int32Array} s 25 lanes, each as its low and its high half
 */
function permute(s) {
  const c = new Int32Array(14);
  for (let round = 0; round < 24; round++) {
    for (let i = 0; i < 10; i++) c[i] = s[i] ^ s[i + 10] ^ s[i + 20] ^ s[i + 30] ^ s[i + 40];
    for (let x = 0; x < 10; x += 2) {
      const next = (x + 2) % 10;
      const before = (x + 8) % 10;
      const low = c[before] ^ ((c[next] << 1) | (c[next + 1] >>> 31));
      const high = c[before + 1] ^ ((c[next + 1] << 1) | (c[next] >>> 31));
      for (let i = x; i < 50; i += 10) {
        s[i] ^= low;
        s[i + 1] ^= high;
      }
    }
    let low = s[2];
    let high = s[3];
    for (let t = 0; t < 24; t++) {
      const lane = LANES[t];
      const turn = TURNS[t];
      const a = turn & 32 ? high : low;
      const b = turn & 32 ? low : high;
      low = s[lane];
      high = s[lane + 1];
      // JavaScript takes shift counts modulo 32.
      s[lane] = turn & 31 ? (a << turn) | (b >>> -turn) : a;
      s[lane + 1] = turn & 31 ? (b << turn) | (a >>> -turn) : b;
    }
    for (let y = 0; y < 50; y += 10) {
      for (let i = 0; i < 10; i++) c[i] = s[y + i];
      for (let i = 0; i < 4; i++) c[10 + i] = c[i];
      for (let i = 0; i < 10; i++) s[y + i] ^= ~c[i + 2] & c[i + 4];
    }
    s[0] ^= ROUNDS[2 * round];
    s[1] ^= ROUNDS[2 * round + 1];
  }
}

/**
 * The SHAKE-128 output of a message.
 * @param {Uint8Array} message shorter than 168 bytes
 * @param {number} length number of output bytes
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function shake128(message, length) {
  const state = new Int32Array(50);
  const block = new DataView(new ArrayBuffer(RATE));
  message.forEach((byte, at) => block.setUint8(at, byte));
  block.setUint8(message.length, 0x1f);
  block.setUint8(RATE - 1, block.getUint8(RATE - 1) ^ 0x80);
  for (let at = 0; at < RATE; at += 4) state[at / 4] = block.getInt32(at, true);
  const out = new DataView(new ArrayBuffer(Math.ceil(length / RATE) * RATE));
  for (let start = 0; start < length; start += RATE) {
    permute(state);
    for (let at = 0; at < RATE; at += 4) out.setInt32(start + at, state[at / 4], true);
  }
  return new Uint8Array(out.buffer).subarray(0, length);
}
