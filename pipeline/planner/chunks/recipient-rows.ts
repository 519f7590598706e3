import type { ChunkRecipient } from '../../../schemas/records.ts';

const NOTHING: Buffer = Buffer.alloc(0);

/** Reads rows (key, person_id, user_id, is_control) of RowBinary from pieces of any size. */
export class RecipientRows {
  #bytes: Buffer = NOTHING;
  #at = 0;

  /** The rows that the piece completes. */
  read(piece: Buffer): ChunkRecipient[] {
    const rest = this.#bytes.length - this.#at;
    this.#bytes = rest === 0 ? piece : Buffer.concat([this.#bytes.subarray(this.#at), piece]);
    this.#at = 0;
    const rows: ChunkRecipient[] = [];
    for (let start = 0; ; start = this.#at) {
      const row = this.#row();
      if (row) {
        rows.push(row);
        continue;
      }
      this.#at = start;
      return rows;
    }
  }

  /** Throws when the last piece ended inside a row. */
  end(): void {
    const rest = this.#bytes.length - this.#at;
    if (rest > 0) throw new Error(`the recipients of a run end ${rest} bytes into a row`);
  }

  /** Undefined: the bytes end before the row does. */
  #row(): ChunkRecipient | undefined {
    const key = this.#text();
    const person = key === undefined ? undefined : this.#text();
    const user = person === undefined ? undefined : this.#text();
    const flag = user === undefined ? undefined : this.#bytes[this.#at++];
    if (key === undefined || person === undefined || user === undefined || flag === undefined)
      return undefined;
    return { key, person_id: person, user_id: user, is_control: flag === 1 };
  }

  /** A length as LEB128, then as many bytes. */
  #text(): string | undefined {
    const bytes = this.#bytes;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[this.#at++];
      if (byte === undefined) return undefined;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    const start = this.#at;
    if (start + length > bytes.length) return undefined;
    this.#at = start + length;
    return bytes.toString('utf8', start, this.#at);
  }
}
