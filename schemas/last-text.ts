/** Up to this length a text is compared with the last one of its field; others are always made. */
const MAX_COMPARED = 256;

/** Node's native decoder, without the argument checks of Buffer.toString. */
export type Sliceable = Buffer & { utf8Slice(from: number, to: number): string };

/** The text that a field had last: nearly every record has the same one in most fields. */
export class LastText {
  #text = '';
  #length = 0;
  readonly #bytes = new Uint8Array(MAX_COMPARED);

  text(bytes: Buffer, from: number, to: number): string {
    const length = to - from;
    if (length === this.#length) {
      const last = this.#bytes;
      let at = 0;
      while (at < length && bytes[from + at] === last[at]) at++;
      if (at === length) return this.#text;
    }
    const text = (bytes as Sliceable).utf8Slice(from, to);
    if (length <= MAX_COMPARED) {
      for (let at = 0; at < length; at++) this.#bytes[at] = bytes[from + at] ?? 0;
      this.#length = length;
      this.#text = text;
    }
    return text;
  }
}
