import type { UrlCondition } from '../../events/channels/onsite/definition.ts';
import { matchesUrl } from '../../events/channels/onsite/targeting.ts';

/** A condition can hold only where these code units of its value are in the address. */
const GRAM_UNITS = 4;
/** Grams all over a value, among which the one with the fewest conditions is chosen. */
const CHOICES = 16;

interface Indexed<T> {
  condition: UrlCondition;
  subjects: Set<T>;
}

/**
 * Finds what has a condition that holds for an address. Looks at the conditions whose gram is in
 * the address and not at all 50,000 that the campaigns of an account may have.
 */
export class UrlIndex<T> {
  /** By the gram; those of values that are shorter than GRAM_UNITS by their length. */
  readonly #byGram = Array.from({ length: GRAM_UNITS }, () => new Map<number, Indexed<T>[]>());

  constructor(subjects: Iterable<T>, conditionsOf: (subject: T) => readonly UrlCondition[]) {
    const known = new Map<string, Indexed<T>>();
    for (const subject of subjects)
      for (const condition of conditionsOf(subject)) {
        const key = `${condition.op} ${condition.value}`;
        const indexed = known.get(key) ?? { condition, subjects: new Set() };
        if (!known.has(key)) this.#add(indexed);
        known.set(key, indexed);
        indexed.subjects.add(subject);
      }
  }

  matching(url: string): Set<T> {
    const found = new Set<T>();
    for (const [index, byGram] of this.#byGram.entries()) {
      if (byGram.size === 0) continue;
      const seen = new Set<readonly Indexed<T>[]>();
      for (let at = 0; at + index < url.length; at++) {
        const list = byGram.get(gramAt(url, at, index + 1));
        if (!list || seen.has(list)) continue;
        seen.add(list);
        for (const { condition, subjects } of list)
          if (matchesUrl(condition, url)) for (const subject of subjects) found.add(subject);
      }
    }
    return found;
  }

  #add(indexed: Indexed<T>): void {
    const { value } = indexed.condition;
    const units = Math.min(GRAM_UNITS, value.length);
    const byGram = this.#byGram[units - 1];
    if (!byGram) return;
    const last = value.length - units;
    const step = Math.max(1, Math.floor(last / CHOICES));
    let chosen = { gram: 0, conditions: Infinity };
    for (let at = last; at >= 0; at -= step) {
      const gram = gramAt(value, at, units);
      const conditions = byGram.get(gram)?.length ?? 0;
      if (conditions < chosen.conditions) chosen = { gram, conditions };
    }
    const list = byGram.get(chosen.gram);
    if (list) list.push(indexed);
    else byGram.set(chosen.gram, [indexed]);
  }
}

/** A number for some code units; different ones may share it. */
function gramAt(text: string, at: number, units: number): number {
  let gram = 0;
  for (let unit = at; unit < at + units; unit++)
    gram = (Math.imul(gram, 0x01000193) ^ text.charCodeAt(unit)) >>> 0;
  return gram;
}
