/** What stands for a digit in the text of a template: a character that JSON does not need. */
const PLACEHOLDER = '#';
const DIGIT_ZERO = 0x30;

/**
 * The body of a batch whose numbers are replaced in place: a client that makes a text of each event
 * takes as much CPU as the gateway does, and here both share the cores with everything else.
 */
export class BatchTemplate {
  readonly #bytes: Buffer;
  /** Begin and length of each number, in the order of the text. */
  readonly #numbers: { at: number; digits: number }[];

  /** @param text in which runs of `#` stand for numbers of so many digits */
  constructor(text: string) {
    this.#numbers = [...text.matchAll(new RegExp(`${PLACEHOLDER}+`, 'g'))].map(
      ({ index, 0: { length: digits } }) => ({
        at: Buffer.byteLength(text.slice(0, index)),
        digits,
      }),
    );
    this.#bytes = Buffer.from(text);
  }

  /**
   * The body with these numbers, one for each run, in decimal with leading zeros. It is valid until
   * the next call.
   */
  with(numbers: readonly number[]): Buffer {
    for (const [which, { at, digits }] of this.#numbers.entries()) {
      let rest = numbers[which] ?? 0;
      for (let digit = at + digits - 1; digit >= at; digit--) {
        this.#bytes[digit] = DIGIT_ZERO + (rest % 10);
        rest = Math.floor(rest / 10);
      }
    }
    return this.#bytes;
  }
}
