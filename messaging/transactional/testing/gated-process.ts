import type { ProviderAnswer } from '../../providers/provider.ts';
import type { TransactionalPorts } from '../ports.ts';

/** How one step of a process goes: a step is a call of a store or of the provider. */
export const STEP_FATES = [
  'done',
  /** The process ends before the step has any effect. */
  'crash_before',
  /** The step has its effect, and the process ends before it knows. */
  'crash_after',
  /** The caller gets an error, and the step had no effect. */
  'lost',
  /** The caller gets an error, and the step had its effect. */
  'lost_answer',
  /** The caller gets an error, and the step has its effect later: that is another step. */
  'late',
] as const;

export type StepFate = (typeof STEP_FATES)[number];

/** The name of an effect that comes after its caller got an error. */
const LATE = 'late';

interface Step {
  name: string;
  run: (fate: StepFate) => Promise<void>;
}

/**
 * A process whose steps happen one by one, when the test says so. One that crashed takes no further
 * step, and none of its promises is ever resolved; what was on its way still arrives.
 */
export class GatedProcess {
  #steps: Step[] = [];
  isDead = false;

  /** Names of the steps that can be taken now. */
  get waiting(): readonly string[] {
    return this.#steps.map(({ name }) => name);
  }

  /** Wraps a call: it happens when `take` says so. */
  gate<T>(name: string, effect: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = () => reject(new Error(`${name} failed`));
      const happen = async () => {
        await effect();
      };
      const fates: Readonly<Record<StepFate, () => Promise<void> | void>> = {
        done: async () => resolve(await effect()),
        crash_before: () => this.#die(),
        crash_after: () => happen().then(() => this.#die()),
        lost: fail,
        lost_answer: () => happen().then(fail),
        late: () => {
          this.#steps.push({ name: LATE, run: happen });
          fail();
        },
      };
      this.#steps.push({ name, run: async (fate) => fates[fate]() });
    });
  }

  /** Takes the step `at` of those that wait, and lets the process go on until it waits again. */
  async take(at: number, fate: StepFate): Promise<void> {
    const [step] = this.#steps.splice(at, 1);
    if (!step) return;
    await step.run(fate);
    await this.quiet();
  }

  /** Resolves when the process waits for its next step. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  #die(): void {
    this.isDead = true;
    this.#steps = this.#steps.filter(({ name }) => name === LATE);
  }
}

/** The ports of a process, each of whose calls is a step. */
export function gatedPorts(process: GatedProcess, ports: TransactionalPorts): TransactionalPorts {
  const { store, sender } = ports;
  return {
    ...ports,
    store: {
      reserve: (key, as) => process.gate('reserve', () => store.reserve(key, as)),
      open: (key, as) => process.gate('open', () => store.open(key, as)),
      unopen: (key) => process.gate('unopen', () => store.unopen(key)),
      release: (key, handed) => process.gate('release', () => store.release(key, handed)),
      complete: (completion) => process.gate('complete', () => store.complete(completion)),
    },
    resolve: (recipient) => process.gate('resolve', () => ports.resolve(recipient)),
    wait: (ms) => process.gate('wait', () => ports.wait(ms)),
    sender: async (accountId, channel) => {
      const found = await sender(accountId, channel);
      if (!found) return undefined;
      const { provider } = found;
      const send: typeof provider.send = (message, options) =>
        process.gate('call', () => provider.send(message, options));
      return { ...found, provider: { ...provider, send } };
    },
  };
}

/** What a provider does with a call. */
export const CALL_FATES = [
  'accepted',
  'rejected',
  'retry',
  'broken',
  'lost_accepted',
  'lost',
] as const;

export type CallFate = (typeof CALL_FATES)[number];

const ANSWERS: Readonly<Record<CallFate, ProviderAnswer>> = {
  accepted: { kind: 'accepted', providerMessageId: 'p' },
  rejected: { kind: 'rejected', reason: 'rejected_by_provider', detail: '' },
  retry: { kind: 'retry', reason: 'busy', detail: '' },
  broken: { kind: 'broken', reason: 'credentials', detail: '' },
  lost_accepted: { kind: 'unknown', reason: 'no_answer', detail: '' },
  lost: { kind: 'unknown', reason: 'no_answer', detail: '' },
};

/** A provider that is asked to send one message: every call, and how often it accepted. */
export class ModelProvider {
  readonly calls: CallFate[] = [];
  readonly #isIdempotent: boolean;
  #accepted = 0;

  constructor({ isIdempotent }: { isIdempotent: boolean }) {
    this.#isIdempotent = isIdempotent;
  }

  /** How many messages the person gets. */
  get delivered(): number {
    return this.#isIdempotent ? Math.min(1, this.#accepted) : this.#accepted;
  }

  call(fate: CallFate): ProviderAnswer {
    this.calls.push(fate);
    if (fate === 'accepted' || fate === 'lost_accepted') this.#accepted++;
    return ANSWERS[fate];
  }
}
