import type { Choices } from './choices.ts';

const NEVER = new Promise<never>(() => undefined);

/**
 * A sink process that may be killed (nothing it awaits resolves any more), or paused and resumed
 * later without knowing that another process took over.
 */
export class Owner {
  readonly #choices: Choices;
  readonly #mayDie: boolean;
  #state: 'alive' | 'killed' | 'paused' = 'alive';
  #revoke: () => void = () => undefined;
  #resume: () => void = () => undefined;
  /** Resolves when the group revokes its partition. */
  readonly revoked = new Promise<void>((resolve) => (this.#revoke = resolve));
  readonly #resumed = new Promise<void>((resolve) => (this.#resume = resolve));

  constructor(choices: Choices, mayDie: boolean) {
    this.#choices = choices;
    this.#mayDie = mayDie;
  }

  /** Still a member of the group: only then its commits count. */
  get isMember(): boolean {
    return this.#state === 'alive';
  }

  get isKilled(): boolean {
    return this.#state === 'killed';
  }

  resume(): void {
    this.#resume();
  }

  /** Wraps an adapter: every call may be the last one, before or after its effect. */
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
    if (this.#state === 'paused') return this.#resumed;
    if (!this.#mayDie || !this.#choices.chance(12)) return;
    this.#state = this.#choices.next(2) === 0 ? 'killed' : 'paused';
    this.#revoke();
    await (this.#state === 'killed' ? NEVER : this.#resumed);
  }
}
