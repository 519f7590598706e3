import { randomBytes, type KeyObject } from 'node:crypto';
import type { Registry } from 'prom-client';
import { frameOutcomes, splitOutcomes } from '../../../messaging/outcomes/outcome-frames.ts';
import { EventWriter } from '../../../ingest/event-writer.ts';
import type { LogPublisher } from '../../../ingest/log-publisher.ts';
import { backoffDelay } from '../../../platform/backoff.ts';
import type { Log } from '../../../platform/log.ts';
import type { ErasedRecipients } from '../../../platform/log/erased-recipients.ts';
import { readEventKey } from '../../../platform/messages/event-key.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { WakeSignal } from '../../../platform/wake-signal.ts';
import { messageOutcomeCodec } from '../../../schemas/codec.ts';
import { outboxMetrics, type OutboxMetrics } from './metrics.ts';
import { OutboxStore, type OutboxRow } from './outbox-store.ts';
import { publishOutcomes, type ReadOutcome } from './publish-outcomes.ts';

/** Rows that are published together: some thousands of outcomes. */
const ROWS = 64;
/** A process that died leaves its rows to others after this time, ms. */
const LEASE_MS = 60_000;
/** Until a row is tried again that cannot be published, or read by this release, ms. */
const REFUSED_MS = 10_000;
const UNREADABLE_MS = 300_000;
/** So many rows in turn that cannot be published alone: Kafka or PostgreSQL is the reason. */
const MAX_REFUSED = 3;
/** Between two tries while nothing can be published, ms. */
const BACKOFF = { base: 100, cap: 5000, min: 50 };

export interface OutboxDeps {
  database: Pick<Database, 'query'>;
  publisher: Pick<LogPublisher, 'publish' | 'partitions'>;
  log: Log;
  registry: Registry;
  /** Followed since before the start: outcomes of erased people are published without them. */
  erased: Pick<ErasedRecipients, 'outcome'>;
  /** Names this process among all, and begins as its leases of chunks do (releaseLeases). */
  owner: string;
  random: () => number;
  now: () => number;
  /** Between two looks while nothing waits and nobody notifies, ms. */
  idleMs: number;
}

export interface Outbox {
  start(): void;
  /** Outcomes are waiting. */
  notify(): void;
  /** Ends after the rows that are being published. */
  stop(): Promise<void>;
}

/**
 * Publishes the outcomes of message_outbox, of whichever process, and removes them when Kafka has
 * them: at least once, in no order. Several processes share the rows. A row that cannot be
 * published is tried alone and later, and no other row waits for it.
 */
export function openOutbox(deps: OutboxDeps): Outbox {
  const loop = new OutboxLoop(deps);
  let running: Promise<void> | undefined;
  return {
    start() {
      running ??= loop.run();
    },
    notify: () => loop.notify(),
    async stop() {
      loop.end();
      await running;
    },
  };
}

class OutboxLoop {
  readonly #deps: OutboxDeps;
  readonly #store: OutboxStore;
  readonly #writer: EventWriter;
  readonly #metrics: OutboxMetrics;
  readonly #ending = new AbortController();
  readonly #wake = new WakeSignal();
  #eventKey: KeyObject | undefined;

  constructor(deps: OutboxDeps) {
    const { database, owner, publisher, registry } = deps;
    this.#deps = deps;
    this.#store = new OutboxStore(database, owner);
    this.#metrics = outboxMetrics(registry);
    this.#writer = new EventWriter({
      publish: (records) => publisher.publish(records),
      partitionsOf: () => publisher.partitions(),
      gateway: randomBytes(8).toString('hex'),
    });
  }

  notify(): void {
    this.#wake.notify();
  }

  end(): void {
    this.#ending.abort();
  }

  async run(): Promise<void> {
    const { log, random, idleMs } = this.#deps;
    const { signal } = this.#ending;
    for (let failures = 0; !signal.aborted;) {
      try {
        const isMore = await this.#round();
        failures = 0;
        if (!isMore) await this.#wake.wait(idleMs, signal);
      } catch (error) {
        // The first failure, then every tenth.
        if (failures % 10 === 0)
          log.warn(
            { err: error, code: 'outbox_waiting' },
            'outcomes of messages cannot be published; retrying with backoff',
          );
        const pause = backoffDelay({ ...BACKOFF, attempt: failures++, random: random() });
        await new WakeSignal().wait(pause, signal);
      }
    }
  }

  /** Whether more rows may wait. Rejects when a server refuses, or does not answer. */
  async #round(): Promise<boolean> {
    this.#eventKey ??= await readEventKey(this.#deps.database);
    const rows = await this.#store.lease({ rows: ROWS, ms: LEASE_MS });
    if (rows.length === 0) return false;
    try {
      await this.#publish(rows, this.#eventKey);
    } catch (error) {
      await this.#publishAlone(rows, { eventKey: this.#eventKey, error });
    }
    return rows.length === ROWS;
  }

  /** One of the rows that failed together may be the reason. */
  async #publishAlone(
    rows: readonly OutboxRow[],
    { eventKey, error }: { eventKey: KeyObject; error: unknown },
  ): Promise<void> {
    const { log } = this.#deps;
    let refused = 0;
    for (const [at, row] of rows.entries()) {
      if (refused === MAX_REFUSED || this.#ending.signal.aborted) {
        await this.#store.giveBack(rows.slice(at), 0);
        throw error;
      }
      try {
        await this.#publish([row], eventKey);
        refused = 0;
      } catch (failure) {
        refused++;
        log.warn(
          { err: failure, code: 'outcomes_refused', account_id: row.accountId, row: row.id },
          'the outcomes of a row of message_outbox could not be published; others go first',
        );
        await this.#store.giveBack([row], REFUSED_MS);
      }
    }
  }

  async #publish(rows: readonly OutboxRow[], eventKey: KeyObject): Promise<void> {
    const { publisher, now } = this.#deps;
    const { outcomes, unreadable } = this.#read(rows);
    const publish: LogPublisher['publish'] = (records) => publisher.publish(records);
    await publishOutcomes(outcomes, { publish, writer: this.#writer, eventKey, now });
    const published = rows.filter(({ id }) => !unreadable.some((kept) => kept.id === id));
    await this.#store.remove(published, unreadable, UNREADABLE_MS);
    this.#metrics.published(outcomes.map(({ outcome }) => outcome.status));
  }

  #withoutErased(record: Buffer): ReadOutcome {
    const left = this.#deps.erased.outcome(record);
    return { outcome: messageOutcomeCodec.decode(left), record: left };
  }

  /** What can be read, and of each row the rest: a newer release wrote it, or it is damaged. */
  #read(rows: readonly OutboxRow[]): { outcomes: ReadOutcome[]; unreadable: OutboxRow[] } {
    const { log } = this.#deps;
    const outcomes: ReadOutcome[] = [];
    const unreadable: OutboxRow[] = [];
    for (const row of rows) {
      const rest: Buffer[] = [];
      for (const record of splitOutcomes(row.outcomes))
        try {
          outcomes.push(this.#withoutErased(record));
        } catch (error) {
          if (rest.push(record) > 1) continue;
          log.error(
            { err: error, code: 'outcome_unreadable', account_id: row.accountId, row: row.id },
            'outcomes of messages in message_outbox cannot be read: they stay there and are tried again; upgrade this service',
          );
        }
      if (rest.length === 0) continue;
      unreadable.push({ ...row, outcomes: frameOutcomes(rest) });
      this.#metrics.unreadable(rest.length);
    }
    return { outcomes, unreadable };
  }
}
