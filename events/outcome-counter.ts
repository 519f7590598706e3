import type { OutcomeCount } from '../schemas/records.ts';

/**
 * Different counts of one request. Beyond the first number, further fields (of a client that
 * invents ever new ones) are counted under an empty field; beyond the second, further SDKs under an
 * empty SDK. What then remains is a closed set: the kinds and codes.
 */
const MAX_COUNTS = 256;
const MAX_COUNTS_WITH_SDK = 320;

/** Counts rejections and warnings of a request by kind, code, field and SDK (ingest 2.6). */
export class OutcomeCounter {
  readonly counts: OutcomeCount[] = [];
  /** Most requests count nothing. */
  #byKey: Map<string, OutcomeCount> | undefined;
  #last: OutcomeCount | undefined;

  add(entry: Omit<OutcomeCount, 'count'>): void {
    const last = this.#last;
    if (
      last !== undefined &&
      last.code === entry.code &&
      last.field === entry.field &&
      last.sdk === entry.sdk &&
      last.kind === entry.kind
    ) {
      last.count++;
      return;
    }
    const known = this.#byKey?.get(keyOf(entry));
    if (known !== undefined) known.count++;
    else if (this.counts.length >= MAX_COUNTS && entry.field !== '')
      this.add({ ...entry, field: '' });
    else if (this.counts.length >= MAX_COUNTS_WITH_SDK && entry.sdk !== '')
      this.add({ ...entry, sdk: '' });
    else this.#begin(entry);
  }

  #begin(entry: Omit<OutcomeCount, 'count'>): void {
    this.#last = { ...entry, count: 1 };
    this.#byKey ??= new Map();
    this.#byKey.set(keyOf(entry), this.#last);
    this.counts.push(this.#last);
  }
}

function keyOf({ kind, code, field, sdk }: Omit<OutcomeCount, 'count'>): string {
  return `${kind}\u0000${code}\u0000${field}\u0000${sdk}`;
}
