import { Registry } from 'prom-client';
import { setTimeout as wait } from 'node:timers/promises';
import { personKey } from '../../../events/messages/message-id.ts';
import { DEFAULT_SETTINGS } from '../../../messaging/settings/settings.ts';
import type { OpenSender } from '../../../messaging/senders/senders.ts';
import { createLog } from '../../../platform/log.ts';
import type { MigratedDatabase } from '../../../platform/postgres/testing/migrated-database.ts';
import { RecentSet } from '../../../platform/recent-set.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import { emptyBits } from '../chunk/bits.ts';
import { Dispatcher } from '../dispatcher.ts';
import { dispatcherMetrics } from '../metrics.ts';
import { grantRates } from '../senders/rate-store.ts';
import { SenderGates } from '../senders/sender-gates.ts';
import { chunkWriter } from '../store/chunk-writer.ts';
import type { CallAnswer, ChunkPorts, ChunkToSend } from '../worker/ports.ts';
import { PreparedBytes } from '../worker/prepared-bytes.ts';

const FACTS = { templateId: 3, templateVersion: 2, category: 'marketing' };
const CONTENT = { subject: '', title: '', text: 'سلام', html: '', url: '', data: {} };

type Answer = CallAnswer & { afterMs?: number };

/** What the provider of an account answers, and how soon. */
export interface Receiver {
  /** By the person; undefined: never answers, until the process ends. */
  answer: (person: string) => Promise<Answer> | undefined;
  isIdempotent?: boolean;
  limits?: OpenSender['limits'];
}

/** Dispatchers over a real PostgreSQL, whose recipients and providers are the test's. */
export class DispatchWorld {
  readonly #postgres: MigratedDatabase;
  /** By account. */
  readonly receivers = new Map<number, Receiver>();
  /** People whose provider was called, in the order of the calls. */
  readonly called: string[] = [];
  /** Of the sender, by account. */
  readonly revisions = new Map<number, number>();
  /** What an account may send a second, over all its senders. */
  readonly accountLimits = new Map<number, number>();
  prepareFails = false;
  readonly #dispatchers: Dispatcher[] = [];
  readonly #closing = new AbortController();

  constructor(postgres: MigratedDatabase) {
    this.#postgres = postgres;
  }

  /** @param run `control`: recipients of each chunk that are in the control group */
  async addRun(run: {
    id: number;
    accountId: number;
    chunks: number;
    recipients: number;
    control?: number;
  }) {
    const { id, accountId, chunks, recipients, control = 0 } = run;
    const { database } = this.#postgres;
    await database.query(
      `INSERT INTO accounts (id, name) VALUES ($1, 'a') ON CONFLICT DO NOTHING`,
      [accountId],
    );
    await database.query(
      `INSERT INTO campaigns (id, account_id, name, channel, definition) VALUES ($1, $2, 'c', 'push', '{}')`,
      [id, accountId],
    );
    await database.query(
      `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, deadline_at, is_planned, planned)
       VALUES ($1, $1, $2, 'send', 'sending', now(), '{"name":"d","channel":"push"}', 4, now() + interval '24 hours', true, $3)`,
      [id, accountId, chunks * recipients],
    );
    for (let chunk = 0; chunk < chunks; chunk++) {
      const people = Array.from({ length: recipients }, (_, at) => `r${id}c${chunk}p${at}`);
      const record = messageChunkCodec.encode({
        ...{ account_id: accountId, campaign_id: id, run_id: id, chunk, planned_at: 5 },
        first_key: personKey(people[0] ?? ''),
        recipients: people.map((person, at) => ({
          ...{ key: personKey(person), person_id: person, user_id: person },
          is_control: at < control,
        })),
      });
      await database.query(
        `INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, finished)
         VALUES ($1, $2, $3, $1, 'push', $4, $5, '', $6, $6)`,
        [id, chunk, accountId, record, recipients, emptyBits(recipients)],
      );
    }
  }

  /** Another process. */
  open(options: { slots?: number; leaseMs?: number; maxCalls?: number } = {}): Dispatcher {
    const { slots = 16, leaseMs = 15_000, maxCalls = 1000 } = options;
    const { database } = this.#postgres;
    const log = createLog({ part: 'test', level: 'silent' });
    const gates = new SenderGates({
      senders: { open: (accountId) => Promise.resolve(this.#sender(accountId)) },
      readSettings: (accountId) =>
        Promise.resolve({ ...DEFAULT_SETTINGS, maxPerSecond: this.accountLimits.get(accountId) }),
      grantRate: async (key) => (await grantRates(database, [key]))[0],
      ...{ maxCalls, now: () => performance.now(), random: Math.random },
      onPhase: () => undefined,
    });
    const signal = this.#closing.signal;
    const dispatcher: Dispatcher = new Dispatcher({
      ...{ database, gates, log, slots, leaseMs, now: Date.now, random: Math.random },
      openPorts: ({ leased, answered, signal: stopping }) =>
        Promise.resolve(this.#ports(leased.accountId, { answered, stopping })),
      write: chunkWriter(database, { terms: { leaseMs }, log, signal }),
      prepared: new PreparedBytes(2 ** 24),
      metrics: dispatcherMetrics(new Registry(), {
        phases: () => [...gates.all()].map(({ gate }) => gate.phase),
        openCalls: () => gates.openCalls,
        chunks: () => dispatcher.chunks,
      }),
      reported: new RecentSet({ capacity: 10, keepFor: 1000 }),
      ...{ renewAfterMs: leaseMs / 5, idleMs: 200 },
      owner: `i/${this.#dispatchers.length}`,
    });
    this.#dispatchers.push(dispatcher);
    dispatcher.start();
    return dispatcher;
  }

  async close(): Promise<void> {
    await Promise.all(this.#dispatchers.map((dispatcher) => dispatcher.stop(50)));
    this.#closing.abort();
  }

  /** Of a run: `status reason` to how many. */
  async counts(runId: number): Promise<Record<string, number>> {
    const { rows } = await this.#postgres.database.query<{ name: string; messages: number }>(
      `SELECT trim(status || ' ' || reason) AS name, messages::integer FROM campaign_run_counts WHERE run_id = $1 AND messages > 0`,
      [runId],
    );
    return Object.fromEntries(rows.map(({ name, messages }) => [name, messages]));
  }

  /** Resolves when the condition holds; rejects after a time that no test needs. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    for (let turn = 0; turn < 2000; turn++) {
      if (await condition()) return;
      await wait(10);
    }
    throw new Error('the condition never came true');
  }

  untilCounted(runId: number, people: number): Promise<void> {
    return this.until(async () => {
      const counts = Object.values(await this.counts(runId));
      return counts.reduce((sum, count) => sum + count, 0) >= people;
    });
  }

  #sender(accountId: number): OpenSender | undefined {
    const receiver = this.receivers.get(accountId);
    if (!receiver) return undefined;
    return {
      revision: this.revisions.get(accountId) ?? 1,
      broken: undefined,
      limits: receiver.limits ?? { perSecond: undefined, concurrency: 100 },
      provider: {
        ...{ channel: 'push', name: 'fcm', isIdempotent: receiver.isIdempotent ?? false },
        send: () => Promise.resolve({ kind: 'accepted', providerMessageId: '' }),
        close: () => Promise.resolve(),
      },
    };
  }

  #ports(
    accountId: number,
    of: {
      answered: ChunkToSend['answered'];
      stopping: AbortSignal;
    },
  ): ChunkPorts {
    const { answered, stopping } = of;
    return {
      facts: FACTS,
      prepare: (recipients) => {
        if (this.prepareFails) return Promise.reject(new Error('no look-up'));
        const receiver = this.receivers.get(accountId);
        return Promise.resolve(
          recipients.map(({ person_id: person }) =>
            receiver
              ? {
                  kind: 'send',
                  message: {
                    messages: [
                      {
                        messageId: person,
                        to: { kind: 'chat', chatId: person },
                        content: CONTENT,
                        expiresAt: 0,
                      },
                    ],
                    ...{ resolvedAt: Date.now(), addressHash: 'h', capOf: '', userId: person },
                  },
                }
              : {
                  ...{ kind: 'finish', status: 'skipped', addressHash: '' },
                  reason: 'channel_not_configured',
                },
          ),
        );
      },
      call: async ({ message }) => {
        const person = message.messages[0]?.messageId ?? '';
        this.called.push(person);
        const began = performance.now();
        const never = new Promise<CallAnswer>((resolve) =>
          stopping.addEventListener('abort', () => resolve({ kind: 'unknown' })),
        );
        const answer = await (this.receivers.get(accountId)?.answer(person) ?? never);
        const isAlive = answer.kind === 'sent' || answer.kind === 'failed';
        answered(
          isAlive ? { kind: 'working' } : { kind: 'failing', afterMs: undefined },
          performance.now() - began,
        );
        return answer;
      },
    };
  }
}
