const PERSIAN = /(?=\p{L})\p{Script=Arabic}/u;
/** Nothing before the Latin word has a direction; marks of direction decide themselves. */
const BEGINS_LATIN = /^[^\p{L}\u200e\u200f\u202a-\u202e\u2066-\u2069]*\p{Script=Latin}/u;
const RIGHT_TO_LEFT_MARK = '\u200f';

/**
 * Text that begins with a Latin word but holds Persian is shown from right to left: phones take the
 * direction from the first character that has one.
 */
export function markDirection(text: string): string {
  return PERSIAN.test(text) && BEGINS_LATIN.test(text) ? RIGHT_TO_LEFT_MARK + text : text;
}
