import type { Choices } from './choices.ts';

const NEVER = new Promise<never>(() => undefined);

/**
 * A sink process that may be killed (nothing that it awaits comes back), or stopped for a while and
 * wake up later without knowing that somebody else took over.
 */
export class Owner {
  readonly #choices: Choices;
  readonly #mayDie: boolean;
  #state: 'alive' | 'killed' | 'asleep' = 'alive';
  #gone: () => void = () => undefined;
  #wake: () => void = () => undefined;
  /** Resolves when the group takes the partition away from it. */
  readonly gone = new Promise<void>((resolve) => (this.#gone = resolve));
  readonly #awake = new Promise<void>((resolve) => (this.#wake = resolve));

  constructor(choices: Choices, mayDie: boolean) {
    this.#choices = choices;
    this.#mayDie = mayDie;
  }

  /** Still the member of the group that owns the partition: only then its commits count. */
  get isMember(): boolean {
    return this.#state === 'alive';
  }

  get isKilled(): boolean {
    return this.#state === 'killed';
  }

  wakeUp(): void {
    this.#wake();
  }

  /** An adapter whose every call may be the last one: before its effect, or after it. */
  guard<T extends object>(adapter: T): T {
    return new Proxy(adapter, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          await this.#step();
          const answer: unknown = await Reflect.apply(member, target, args);
          await this.#step();
          return answer;
        };
      },
    });
  }

  async #step(): Promise<void> {
    await Promise.resolve();
    if (this.#state === 'killed') return NEVER;
    if (this.#state === 'asleep') return this.#awake;
    if (!this.#mayDie || !this.#choices.chance(12)) return;
    this.#state = this.#choices.next(2) === 0 ? 'killed' : 'asleep';
    this.#gone();
    await (this.#state === 'killed' ? NEVER : this.#awake);
  }
}
