const SLOTS = 64;

/** Finds the number of a key by its bytes, without making a string of it. */
export class KeyTable {
  readonly #slots: (readonly { bytes: Buffer; number: number }[])[];

  constructor(keys: readonly (readonly [key: string, number: number])[]) {
    const all = keys.map(([key, number]) => ({ bytes: Buffer.from(key), number }));
    this.#slots = Array.from({ length: SLOTS }, (_, slot) =>
      all.filter(({ bytes }) => slotOf(bytes, 0, bytes.length) === slot),
    );
  }

  /** Undefined when the key from `start` to `end` is none of the table. */
  find(bytes: Uint8Array, start: number, end: number): number | undefined {
    const length = end - start;
    for (const key of this.#slots[slotOf(bytes, start, end)] ?? []) {
      if (key.bytes.length !== length) continue;
      let at = 0;
      while (at < length && key.bytes[at] === bytes[start + at]) at++;
      if (at === length) return key.number;
    }
    return undefined;
  }
}

function slotOf(bytes: Uint8Array, start: number, end: number): number {
  return (3 * (end - start) + 5 * (bytes[start] ?? 0) + (bytes[end - 1] ?? 0)) % SLOTS;
}
