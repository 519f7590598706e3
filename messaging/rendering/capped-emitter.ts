import type { Emitter } from 'liquidjs';

/** Collects the output of one part, up to its maximum length. */
export class CappedEmitter implements Emitter {
  buffer = '';
  /** What was written at a time. */
  readonly pieces: string[] = [];
  readonly #maxCharacters: number;

  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters;
  }

  write(text: unknown): void {
    // Outputs are text already (engine.ts); tags of liquidjs write text and numbers.
    const piece = typeof text === 'string' ? text : String(text);
    this.buffer += piece;
    this.pieces.push(piece);
    if (this.buffer.length > this.#maxCharacters)
      throw new Error(`it becomes longer than ${this.#maxCharacters} characters: shorten it`);
  }
}
