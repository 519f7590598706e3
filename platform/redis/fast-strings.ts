/** A function has no inline cache of a property before it has run a few times. */
const RUNS = 1000;

/**
 * Undoes what importing ioredis does to every string of the process. One of its classes extends
 * String, for which V8 turns the properties of `String.prototype` into a dictionary, until an
 * object that inherits from it is read through an inline cache. Strings are no objects, so that
 * nothing would do that: each `text.charCodeAt(at)` stays a look-up of its own, and a loop over the
 * units of a text takes four times as long (docs/performance.md, "Normaliser").
 */
export function restoreFastStrings(): void {
  const text = Object('text') as string;
  let sum = 0;
  for (let run = 0; run < RUNS; run++) sum += firstUnit(text);
  if (sum !== RUNS * 't'.charCodeAt(0)) throw new Error('a text has other units than it had');
}

function firstUnit(text: string): number {
  return text.charCodeAt(0);
}
