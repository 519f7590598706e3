import { setImmediate as nextTurn } from 'node:timers/promises';
import { personKey, campaignMessageId } from '../../../events/messages/message-id.ts';
import type { ChunkRecipient, MessageChunk } from '../../../schemas/records.ts';
import type { ChunkWrite, WriteAnswer } from '../store/chunk-row.ts';
import { GroupedCalls } from '../../../platform/grouped-calls.ts';
import { sendChunk, type ChunkWorkerDeps } from '../worker/chunk-worker.ts';
import type { CallAnswer, Decision } from '../worker/ports.ts';
import { ModelStore } from './model-store.ts';

/** A step that the test triggers. Those of a process wait while it is suspended. */
interface Pending {
  process: ProcessModel | undefined;
  /** Not before, on the model's clock, ms. */
  at: number;
  run: () => void;
}

export interface ModelOptions {
  /** Answers in [0, 1), the same for the same seed. */
  random: () => number;
  recipients: number;
  chunks: number;
  isIdempotent: boolean;
  /** Permits of a process. */
  concurrency: number;
}

const FACTS = { templateId: 1, templateVersion: 1, category: 'marketing' };

/**
 * Dispatchers, their ledger and a provider in memory. Every asynchronous step is triggered by the
 * test, in any order that real systems allow: processes are killed and suspended between any two,
 * statements are executed with or without their answer, late, or never, and so are calls.
 */
export class DispatchModel {
  readonly store = new ModelStore();
  /** How often the provider accepted each message. */
  readonly accepted = new Map<string, number>();
  readonly processes: ProcessModel[] = [];
  readonly options: ModelOptions;
  now = 1_000_000;
  /** Answers of calls that never came. */
  lostAnswers = 0;
  /** Faults end, so that the rest is sent. */
  isCalm = false;
  /** Revision of the sender: another one is another provider. */
  revision = 1;
  #pending: Pending[] = [];
  #names = 0;

  constructor(options: ModelOptions) {
    this.options = options;
    const people = Array.from({ length: options.chunks * options.recipients }, (_, at) => ({
      ...{
        person_id: `p${at}`,
        user_id: `p${at}`,
        key: personKey(`p${at}`),
        is_control: at % 7 === 3,
      },
    }));
    for (let chunk = 0; chunk < options.chunks; chunk++) {
      const recipients = people.slice(chunk * options.recipients, (chunk + 1) * options.recipients);
      const run = { isPaused: false, isCancelled: false, definition: {}, version: 1, frozen: {} };
      this.store.add(chunkOf(chunk, recipients), {
        ...run,
        deadlineAt: this.now + 3_600_000,
      });
    }
  }

  chance(share: number): boolean {
    return this.options.random() < share;
  }

  start(): ProcessModel {
    const process = new ProcessModel(this, `process-${this.#names++}`);
    this.processes.push(process);
    void process.run();
    return process;
  }

  later(process: ProcessModel | undefined, run: () => void, ms = 0): void {
    if (process?.isAlive !== false) this.#pending.push({ process, run, at: this.now + ms });
  }

  /** kill -9: what it sent may still arrive. */
  kill(process: ProcessModel): void {
    process.isAlive = false;
    this.processes.splice(this.processes.indexOf(process), 1);
    this.#pending = this.#pending.filter((one) => one.process !== process);
  }

  /** Triggers one step; false when only time can trigger one. */
  async step(): Promise<boolean> {
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    const ready = this.#pending.filter(
      ({ process, at }) => at <= this.now && process?.isSuspended !== true,
    );
    const one = ready[Math.floor(this.options.random() * ready.length)];
    if (!one) return false;
    this.#pending.splice(this.#pending.indexOf(one), 1);
    one.run();
    return true;
  }

  /** Executes a statement of a process: with its answer, without, late, or not at all. */
  execute<T>(process: ProcessModel, statement: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const failed = () => this.later(process, () => reject(new Error('no answer')));
      const executed = () => {
        const answer = statement();
        return () => resolve(answer);
      };
      if (this.isCalm || this.chance(0.85))
        this.later(undefined, () => this.later(process, executed()));
      else if (this.chance(0.4))
        this.later(undefined, () => {
          statement();
          failed();
        });
      else {
        failed();
        if (this.chance(0.5)) this.later(undefined, statement, this.options.random() * 30_000);
      }
    });
  }

  /** A call that a process makes. It may arrive although the process does not wait for it. */
  call(process: ProcessModel, to: { messageId: string; revision: number }): Promise<CallAnswer> {
    return new Promise((resolve) => {
      const answer = (what: CallAnswer) => {
        if (what.kind === 'unknown') this.lostAnswers++;
        this.later(process, () => resolve(what));
      };
      this.later(process, () => {
        if (!this.isCalm && this.chance(0.03)) return answer({ kind: 'unknown' });
        this.later(undefined, () => {
          const what = this.#provide(to);
          const isLost = !this.isCalm && this.chance(0.05);
          answer(isLost ? { kind: 'unknown' } : what);
        });
        return undefined;
      });
    });
  }

  #provide({ messageId, revision }: { messageId: string; revision: number }): CallAnswer {
    const draw = this.options.random();
    const key = this.options.isIdempotent ? `${messageId} ${revision}` : messageId;
    const isKnown = this.options.isIdempotent && this.accepted.has(key);
    if (!isKnown && draw < 0.15) return { kind: 'retry' };
    // For good, like a malformed address.
    if (messageId.endsWith('0')) return { kind: 'failed', reason: 'rejected_by_provider' };
    if (!isKnown) this.accepted.set(key, (this.accepted.get(key) ?? 0) + 1);
    return { kind: 'sent', providerMessageId: `id-${messageId}` };
  }
}

function chunkOf(chunk: number, recipients: ChunkRecipient[]): MessageChunk {
  return {
    ...{ account_id: 1, campaign_id: 5, run_id: 7, chunk, planned_at: 1_000_000 },
    ...{ first_key: recipients[0]?.key ?? '', recipients },
  };
}

/** One dispatcher with the real worker and the real writer. */
export class ProcessModel {
  readonly name: string;
  readonly #model: DispatchModel;
  isAlive = true;
  isSuspended = false;
  /** It gives its chunk back soon. */
  isEnding = false;
  #permits: number;
  #sending = 0;
  #leases = 0;

  constructor(model: DispatchModel, name: string) {
    this.#model = model;
    this.name = name;
    this.#permits = model.options.concurrency;
  }

  async run(): Promise<void> {
    const writer = new GroupedCalls<ChunkWrite, WriteAnswer>({
      run: (writes) => this.#untilAnswered(() => this.#write(writes)),
    });
    await Promise.all([this.#sendChunks(writer), this.#sendChunks(writer)]);
  }

  /** One chunk after the other. */
  async #sendChunks(writer: GroupedCalls<ChunkWrite, WriteAnswer>): Promise<void> {
    const model = this.#model;
    for (;;) {
      const leased = await model
        .execute(this, () => model.store.lease(`${this.name}/${this.#leases++}`, model.now))
        .catch(() => undefined);
      if (leased) {
        this.#sending++;
        await sendChunk(leased, this.#deps(writer));
        this.#sending--;
      } else await new Promise<void>((resolve) => model.later(this, resolve, 1000));
      if (this.#sending === 0 && this.#permits !== model.options.concurrency)
        throw new Error('permits were not given back');
    }
  }

  #deps(writer: GroupedCalls<ChunkWrite, WriteAnswer>): ChunkWorkerDeps {
    const model = this.#model;
    const { revision } = model;
    let isNotified = false;
    let wake: (() => void) | undefined;
    return {
      write: (write) => writer.call(write),
      sender: {
        ...{ provider: 'smtp', identity: `smtp:${revision}`, ahead: () => 5 },
        isIdempotent: model.options.isIdempotent,
      },
      permits: {
        take: (max) => {
          const count = Math.min(max, this.#permits);
          this.#permits -= count;
          return count;
        },
        give: (count) => {
          this.#permits += count;
        },
      },
      prepare: (recipients) => this.#prepare(recipients),
      call: ({ message }) =>
        model.call(this, { messageId: message.messages[0]?.messageId ?? '', revision }),
      facts: FACTS,
      wake: {
        notify: () => {
          isNotified = true;
          wake?.();
        },
        wait: async (ms) => {
          if (!isNotified)
            await new Promise<void>((resolve) => {
              wake = resolve;
              model.later(this, resolve, Math.max(0, ms));
            });
          isNotified = false;
        },
      },
      now: () => model.now,
      random: model.options.random,
      state: () => (this.isEnding ? 'ending' : 'sending'),
      renewAfterMs: 6000,
    };
  }

  #write(writes: readonly ChunkWrite[]): Promise<WriteAnswer[]> {
    const model = this.#model;
    return model.execute(this, () => model.store.write(writes, model.now));
  }

  async #untilAnswered<T>(statement: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await statement();
      } catch {
        await new Promise<void>((resolve) => this.#model.later(this, resolve, 100));
      }
    }
  }

  #prepare(recipients: readonly ChunkRecipient[]): Promise<Decision[]> {
    const model = this.#model;
    return new Promise((resolve, reject) => {
      const resolvedAt = model.now;
      model.later(this, () => {
        if (!model.isCalm && model.chance(0.05)) return reject(new Error('no look-up'));
        return resolve(recipients.map((one) => this.#decide(one, resolvedAt)));
      });
    });
  }

  #decide({ key, is_control }: ChunkRecipient, resolvedAt: number): Decision {
    const model = this.#model;
    if (is_control)
      return { kind: 'finish', status: 'withheld', reason: 'control_group', addressHash: '' };
    if (model.chance(0.05))
      return { kind: 'finish', status: 'skipped', reason: 'no_address', addressHash: '' };
    if (!model.isCalm && model.chance(0.03)) return { kind: 'wait', until: model.now + 5000 };
    const messageId = campaignMessageId({ campaignId: 5, runId: 7, key });
    model.store.reserved.add(messageId);
    // It cannot be rendered, for good or now.
    if (model.chance(0.05))
      return {
        ...{ kind: 'finish', status: 'failed', reason: 'render_failed', addressHash: '' },
        capOf: key,
      };
    if (!model.isCalm && model.chance(0.05))
      return { kind: 'wait', until: model.now + (model.chance(0.5) ? 0 : 5000), capOf: key };
    const message = {
      ...{ messageId, to: { kind: 'chat', chatId: key } as const, expiresAt: 0 },
      content: { subject: '', title: '', text: '', html: '', url: '', data: {} },
    };
    return {
      kind: 'send',
      message: { messages: [message], userId: '', resolvedAt, addressHash: 'h', capOf: key },
    };
  }
}
