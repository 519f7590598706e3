import type { ExportFormat } from './request.ts';

const NEWLINE = 0x0a;
const QUOTE = 0x22;

/**
 * Counts rows and bytes of a file while it is streamed. A line of ndjson is a row; a csv has a
 * header line, and a line break inside quotes does not end a row.
 */
export class RowCounter {
  bytes = 0;
  readonly #isCsv: boolean;
  #lines = 0;
  #isQuoted = false;

  constructor(format: ExportFormat) {
    this.#isCsv = format === 'csv';
  }

  get rows(): number {
    return Math.max(0, this.#isCsv ? this.#lines - 1 : this.#lines);
  }

  count(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (!this.#isCsv) {
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1))
        this.#lines++;
      return;
    }
    for (const byte of chunk) {
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
      else if (byte === NEWLINE && !this.#isQuoted) this.#lines++;
    }
  }
}
