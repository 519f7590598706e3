/** A body up to this size is cheap, whatever it holds: about 1 ms at worst. */
const ALWAYS_CHEAP_BYTES = 8192;
/** One window is read of each so many bytes, at a random place. */
const STRATUM_BYTES = 8192;
const WINDOW_BYTES = 256;

/**
 * Upper ends of what JSON.parse and the decision cost, in ns: objects with ever new keys cost 250
 * for each brace, bracket, colon and comma, ordinary ones 30.
 */
const NS_PER_TOKEN = 150;
const NS_PER_BYTE = 6;
const MAX_NS = 8_000_000;
/** Tokens for each byte. Events have 0.05 to 0.2; a body of `{},` has 0.7. */
const MAX_DENSITY = 0.35;

/**
 * True when a body can be parsed and decided in about 10 ms: then that may happen on the event
 * loop. The tokens are estimated from samples, in 0.03 ns for each byte of the body.
 * @param random from 0 to 1; a client cannot know which bytes are read
 */
export function isCheapToParse(body: Uint8Array, random: () => number): boolean {
  const { length } = body;
  if (length <= ALWAYS_CHEAP_BYTES) return true;
  let tokens = 0;
  let sampled = 0;
  for (let stratum = 0; stratum < length; stratum += STRATUM_BYTES) {
    const room = Math.min(STRATUM_BYTES, length - stratum) - WINDOW_BYTES;
    const start = stratum + Math.floor(random() * Math.max(0, room));
    const end = Math.min(start + WINDOW_BYTES, length);
    for (let at = start; at < end; at++) tokens += IS_TOKEN[body[at] ?? 0] ?? 0;
    sampled += end - start;
  }
  const density = tokens / sampled;
  return density <= MAX_DENSITY && length * (density * NS_PER_TOKEN + NS_PER_BYTE) <= MAX_NS;
}

/** 1 for the bytes that begin a value or a member; inside of strings they count as well. */
const IS_TOKEN = new Uint8Array(256);
for (const token of '{[:,') IS_TOKEN[token.charCodeAt(0)] = 1;
