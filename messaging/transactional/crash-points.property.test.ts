import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { drawnRuns } from '../../platform/testing/drawn-runs.ts';
import type { TemplateVersion } from '../templates/template.ts';
import type { TransactionalAnswer, TransactionalPorts } from './ports.ts';
import {
  CALL_FATES,
  GatedProcess,
  gatedPorts,
  ModelProvider,
  STEP_FATES,
  type CallFate,
  type StepFate,
} from './testing/gated-process.ts';
import { TransactionalSender } from './transactional-sender.ts';
import { TransactionalStore } from './transactional-store.ts';

const STALE_MS = 60_000;
const RUNS = drawnRuns(300);

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060']);
}, 30_000);
afterAll(() => postgres.close());

const sql = async <T>(text: string, values: unknown[] = []) =>
  (await postgres.database.query(text, values)).rows as T[];

const TEMPLATE: TemplateVersion = {
  ...{ templateId: 5, version: 1, accountId: 1, channel: 'sms', category: 'transactional' },
  content: { text: 'x' },
};
const CONTENT = { subject: '', title: '', text: 'x', html: '', url: '', data: {} };

/** Something that happens: a request arrives, a process takes a step, or reservations get stale. */
type Happening =
  | { kind: 'request' }
  | { kind: 'stale' }
  | { kind: 'step'; process: number; step: number; fate: StepFate; call: CallFate };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'request' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'stale' as const }) },
  {
    weight: 14,
    arbitrary: fc.record({
      kind: fc.constant('step' as const),
      ...{ process: fc.nat(5), step: fc.nat(2) },
      fate: fc.oneof(
        { weight: 6, arbitrary: fc.constant<StepFate>('done') },
        { weight: 3, arbitrary: fc.constantFrom(...STEP_FATES) },
      ),
      call: fc.constantFrom(...CALL_FATES),
    }),
  },
);

let keys = 0;
let fences = 0;

/** Of an e-mail the key is reserved before it is rendered. */
const CHANNELS = ['sms', 'sms', 'email'] as const;

/** One idempotency key, and every process that ever served a request with it. */
class World {
  readonly key = `order-${++keys}`;
  readonly channel = CHANNELS[keys % CHANNELS.length] ?? 'sms';
  readonly provider: ModelProvider;
  readonly processes: GatedProcess[] = [];
  readonly answers: { answer: TransactionalAnswer; calls: CallFate[] }[] = [];
  /** The providers' answers to come. */
  next: CallFate = 'accepted';
  readonly #isIdempotent: boolean;
  #clock = 0;

  constructor(options: { isIdempotent: boolean }) {
    this.#isIdempotent = options.isIdempotent;
    this.provider = new ModelProvider(options);
  }

  async request(): Promise<void> {
    const process = new GatedProcess();
    this.processes.push(process);
    const calls: CallFate[] = [];
    const times = { staleMs: STALE_MS, retentionMs: 1e9 };
    const store = new TransactionalStore(postgres.database, times);
    const sender = new TransactionalSender(gatedPorts(process, this.#ports(store, calls)));
    const request = {
      ...{ accountId: 1, userId: 'u', templateId: 5, channel: this.channel, vars: {} },
      ...{ category: 'transactional' as const, idempotencyKey: this.key, receivedAt: 0 },
    };
    void sender.send(request).then((answer) => this.answers.push({ answer, calls }));
    await process.quiet();
  }

  async happen(one: Happening): Promise<void> {
    if (one.kind === 'request') return this.request();
    if (one.kind === 'stale') return this.stale();
    const process = this.processes[one.process % Math.max(1, this.processes.length)];
    if (!process || process.waiting.length === 0) return;
    const at = one.step % process.waiting.length;
    this.next = one.call;
    await process.take(at, fateOf(process.waiting[at] ?? '', one.fate));
  }

  async stale(): Promise<void> {
    this.#clock += STALE_MS + 1;
    await sql(
      `UPDATE transactional_messages SET reserved_at = reserved_at - $2 * interval '1 millisecond' WHERE idempotency_key = $1`,
      [this.key, STALE_MS + 1],
    );
  }

  /** Lets every process that lives do all it still wants to, in the order of their steps. */
  async drain(): Promise<void> {
    for (let turn = 0; turn < 500; turn++) {
      const process = this.processes.find(({ waiting }) => waiting.length > 0);
      if (!process) return;
      this.next = 'accepted';
      await process.take(0, 'done');
    }
    throw new Error('a process does not come to an end');
  }

  #ports(store: TransactionalStore, calls: CallFate[]): TransactionalPorts {
    const none = () => undefined;
    const targets = [{ kind: 'phone' as const, number: '+989120000000' }];
    return {
      store,
      template: () => Promise.resolve({ ...TEMPLATE, channel: this.channel }),
      resolve: () =>
        Promise.resolve({
          ...{ canonical: 'u', identityRevision: 0, names: ['u'], profile: {} },
          ...{ targets, address: '+989120000000' },
          ...{ suppressed: false, consent: undefined, optedOut: false, optedIn: false },
        }),
      sender: () =>
        Promise.resolve({
          provider: {
            ...{ channel: this.channel, name: 'model', isIdempotent: this.#isIdempotent },
            send: () => {
              calls.push(this.next);
              return Promise.resolve(this.provider.call(this.next));
            },
            close: () => Promise.resolve(),
          },
          limits: { perSecond: undefined, concurrency: 1 },
          ...{ revision: 1, broken: undefined },
        }),
      consentLag: () => Promise.resolve(0),
      prepare: ({ messages }) =>
        Promise.resolve(
          messages.map(({ messageId }) => ({
            ...{ kind: 'ready', addressHash: 'h', missing: [] },
            messages: targets.map((to) => ({ messageId, to, content: CONTENT, expiresAt: 0 })),
          })),
        ),
      reports: { dead: none, broken: none, working: none, missing: none, problem: none },
      now: () => this.#clock,
      random: () => 0,
      measured: none,
      newFence: () => ++fences,
      wait: (ms) => {
        this.#clock += ms;
        return Promise.resolve();
      },
    };
  }
}

/** Steps that are repeated until they succeed only crash: their repeats wait in real time. */
function fateOf(step: string, fate: StepFate): StepFate {
  const isRepeated = ['complete', 'release', 'wait', 'call'].includes(step);
  return isRepeated && !fate.startsWith('crash') ? 'done' : fate;
}

/** Takes steps until one of this name has been taken; what arrives late waits. */
async function until(process: GatedProcess | undefined, name: string, fate: StepFate) {
  for (;;) {
    const { waiting = [] } = process ?? {};
    const at = waiting.findIndex((one) => one === name || one !== 'late');
    await process?.take(at, waiting[at] === name ? fate : 'done');
    if (at < 0 || waiting[at] === name) return;
  }
}

function worldOf(channel: string): World {
  const world = new World({ isIdempotent: false });
  return world.channel === channel ? world : worldOf(channel);
}

/** No provider has the message after a call with this fate, and its caller knows. */
const isCertain = (fate: CallFate) => fate === 'retry' || fate === 'broken';

describe('a transactional message, whatever crashes and whenever', () => {
  it('is not called again after a withdrawal that may take effect later', async () => {
    const world = new World({ isIdempotent: false });
    await world.request();
    const [process] = world.processes;
    world.next = 'retry';
    await until(process, 'unopen', 'late');
    world.next = 'accepted';
    await until(process, 'call', 'crash_after');
    await until(process, 'late', 'done');
    await world.stale();
    await world.request();
    await world.drain();
    expect(world.provider.calls).toEqual(['retry', 'accepted']);
  });

  it.each(['sms', 'email'])(
    'is not called again after a reservation whose answer was lost, %s',
    async (channel) => {
      const world = worldOf(channel);
      await world.request();
      await until(world.processes[0], 'call', 'crash_after');
      await world.stale();
      await world.request();
      await until(world.processes[1], 'reserve', 'lost_answer');
      await world.request();
      await world.drain();
      expect(world.provider.calls).toEqual(['accepted']);
      expect(world.answers.map(({ answer }) => answer.kind)).toEqual(['unavailable', 'answered']);
    },
  );

  it.each([false, true])(
    'is handed over once (idempotent provider: %s)',
    async (isIdempotent) => {
      const seen = { calls: 0, unknown: 0, crashes: 0, repeats: 0 };
      await fc.assert(
        fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 60 }), async (all) => {
          const world = new World({ isIdempotent });
          await world.request();
          for (const one of all) await world.happen(one);
          await world.drain();
          await world.stale();
          await world.request();
          await world.drain();

          const { calls, delivered } = world.provider;
          expect(delivered).toBeLessThanOrEqual(1);
          if (!isIdempotent)
            expect(calls.slice(0, -1).filter((fate) => !isCertain(fate))).toEqual([]);
          for (const { answer, calls: own } of world.answers) {
            if (answer.kind === 'unavailable')
              expect(own.filter((fate) => !isCertain(fate))).toEqual([]);
            if (answer.kind === 'answered' && answer.result.status === 'sent')
              expect(delivered).toBe(1);
          }
          // The last request finds or makes the one result, and everybody got that or none.
          const results = world.answers.flatMap(({ answer }) =>
            answer.kind === 'answered' ? [JSON.stringify(answer.result)] : [],
          );
          expect(results.length).toBeGreaterThan(0);
          const [stored] = await sql<{ result: object }>(
            `SELECT result FROM transactional_messages WHERE idempotency_key = $1`,
            [world.key],
          );
          for (const result of results) expect(JSON.parse(result)).toEqual(stored?.result);
          seen.calls += calls.length;
          seen.unknown += results.some((text) => text.includes('outcome_unknown')) ? 1 : 0;
          seen.crashes += world.processes.filter(({ isDead }) => isDead).length;
          seen.repeats += calls.length > 1 ? 1 : 0;
        }),
        { numRuns: RUNS },
      );
      // The happenings reach what they are about.
      expect(seen.crashes).toBeGreaterThan(RUNS / 4);
      expect(seen.unknown).toBeGreaterThan(0);
      expect(seen.repeats).toBeGreaterThan(0);
      const { rows } = await postgres.database.query(
        `SELECT (SELECT count(*)::int FROM transactional_messages WHERE result->>'status' = 'sent') AS sent, (SELECT coalesce(sum(messages), 0)::int FROM message_meters) AS metered`,
      );
      const [books] = rows as { sent: number; metered: number }[];
      expect(books?.metered).toBe(books?.sent);
    },
    120_000,
  );
});
