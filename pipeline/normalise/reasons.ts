/** Why the service is not ready, one sentence per cause: the answer of /readyz. */
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
