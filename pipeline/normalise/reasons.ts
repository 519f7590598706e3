/** Why the part cannot work at the moment, one sentence a cause: what /readyz answers. */
export class Reasons {
  readonly #causes = new Map<string, string>();

  set(cause: string, sentence: string): void {
    this.#causes.set(cause, sentence);
  }

  clear(cause: string): void {
    this.#causes.delete(cause);
  }

  list(): string[] {
    return [...this.#causes.values()];
  }
}
