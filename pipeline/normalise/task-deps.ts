import type { ClickHouseClient } from '@clickhouse/client';
import type { Redis } from 'ioredis';
import type { ClaimStore } from '../../platform/claims/claim-store.ts';
import { EMPTY_WINDOW, judge } from '../../platform/dead-letter-breaker.ts';
import type { LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import { lastPublished } from '../../platform/log/processed-up-to.ts';
import type { RecordEvidence } from '../../platform/log/evidence.ts';
import type { TopicPartition } from '../../platform/log/evidence-store.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { Config, Names } from './config.ts';
import { logEnds } from './log-ends.ts';
import type { NormaliserMetrics } from './metrics.ts';
import type { Reasons } from './reasons.ts';
import type { KnownLayout } from './log-layout.ts';
import type { KnownEnds } from './sweep-progress.ts';
import type { ClaimsGate } from './claims-gate.ts';
import { IN_FLIGHT_BYTES } from './connect.ts';
import type { NormaliserDeps } from './partition-task.ts';
import { Publisher } from './publisher.ts';
import { rowTools } from './row-tools.ts';
import { Semaphore } from './semaphore.ts';
import { readStoredRows } from './stored-rows.ts';

/** Connections and topology of the normaliser. */
export interface NormaliserOptions {
  config: Config;
  names: Names;
  log: Log;
  redis: Redis;
  clickhouse: ClickHouseClient;
  /** Holds the epochs and evidence of the log. */
  database: Database;
  producer: LogProducer;
  metrics: NormaliserMetrics;
  reasons: Reasons;
  /** Partitions of events.raw (events.normalised has as many), and of events.dead. */
  partitions: { readonly events: number; dead: number };
  /** The layout of the log; absent: it is not recorded for these topics. */
  layout?: KnownLayout;
  /** The version of event-row to write. */
  writtenRows: () => number;
  /** Whether claims may be packed: every process that reads claims knows packs. */
  packs: () => boolean;
  /** Ends of events.raw when they were last read. */
  knownEnds: () => KnownEnds | undefined;
  /** Aborts when the process stops. */
  stopping: AbortSignal;
  /** Ends the process; the supervisor restarts it from the committed offsets. */
  crash: (error: unknown) => void;
}

/** Called with the last record that a batch appended to a partition. */
type Appended = (of: TopicPartition & RecordEvidence) => void;

/** Partitions that are processed concurrently. */
const MAX_CONCURRENT_PARTITIONS = 4;
const ROW_BATCH_LIMITS = { rows: 1000, bytes: 1024 * 1024, rowBytes: 15 * 1024 * 1024 };
const USER_AGENT_CACHE_SIZE = 10_000;
/** ms */
const RETRY_UNCONFIRMED = 2000;
/** Above this many events the breaker halves its counts. */
const BREAKER_WINDOW_EVENTS = 10_000;

/** What the partition tasks of a process share, with its metrics, log lines and readiness. */
export function normaliserDeps(
  options: NormaliserOptions,
  { claims, gate, appended }: { claims: ClaimStore; gate: ClaimsGate; appended: Appended },
): NormaliserDeps {
  const { config, log, metrics, reasons } = options;
  const limits = {
    minDead: config.DEAD_LETTER_BREAKER_LEAST,
    maxDeadShare: config.DEAD_LETTER_BREAKER / 100,
    windowEvents: BREAKER_WINDOW_EVENTS,
  };
  let recent = EMPTY_WINDOW;
  return {
    claims: {
      async resolve(claimsOfBatch, signal) {
        const resolved = await claims.resolve(claimsOfBatch, signal);
        reasons.clear('claims');
        return resolved;
      },
      held: (ids, signal) => claims.held(ids, signal),
      async stored(asked, signal) {
        const dedupeTtl = config.DEDUPE_TTL;
        const rows = await readStoredRows(asked, {
          ...{ clickhouse: options.clickhouse, dedupeTtl, signal },
        });
        metrics.askedClaims.inc({ answer: 'none' }, rows.filter((row) => row === 'none').length);
        metrics.askedClaims.inc({ answer: 'row' }, rows.filter((row) => row !== 'none').length);
        return rows;
      },
    },
    lastPublished: (partition, signal) =>
      retryUntilAborted(
        { log, signal, code: 'kafka_unreachable', what: 'reading the end of events.normalised' },
        async () => {
          const ends = await logEnds(config, options.names).normalised();
          const { low, high } = ends.get(partition) ?? { low: 0, high: 0 };
          const of = { topic: options.names.normalised, partition, low, next: high };
          return lastPublished({ settings: config, signal }, of);
        },
      ),
    gate,
    semaphore: new Semaphore(MAX_CONCURRENT_PARTITIONS),
    publisher: new Publisher(options.producer, IN_FLIGHT_BYTES, appended),
    ...rowTools({
      limits: ROW_BATCH_LIMITS,
      userAgents: USER_AGENT_CACHE_SIZE,
      written: options.writtenRows,
    }),
    names: options.names,
    deadLetterPartitions: options.partitions.dead,
    retryAfter: config.DEAD_LETTER_BREAKER_RETRY,
    now: Date.now,
    judgeChunk: (chunk) => {
      const verdict = judge(recent, chunk, limits);
      if (verdict.verdict === 'pass') recent = verdict.state;
      return verdict;
    },
    published: (partition, chunk) => {
      metrics.count(chunk);
      const [first] = chunk.deadLetters;
      if (!first) return;
      const { reason, offset, index, account_id: account } = first;
      const facts = {
        code: 'dead_letter',
        letters: chunk.deadLetters.length,
        partition,
        reason,
        offset,
        index,
        account,
      };
      log.warn(
        facts,
        'events that could not be normalised were sent to events.dead; reason and position are those of the first one',
      );
    },
    retryUnconfirmed: RETRY_UNCONFIRMED,
    unconfirmed: (partition, error) => {
      if (error === undefined) return reasons.clear(`stored rows ${partition}`);
      const sentence = `partition ${partition} waits for ClickHouse, which must say whether an event is in the table already: ${error.message}`;
      reasons.set(`stored rows ${partition}`, sentence);
      log.warn({ code: 'stored_rows_unavailable', partition }, sentence);
    },
    heldBack: (partition, share) => {
      if (share === undefined) {
        reasons.clear(`breaker ${partition}`);
        metrics.breaker.dec();
        return;
      }
      const sentence =
        `${Math.round(share * 100)}% of the events of partition ${partition} would end as dead letters: processing of the partition is paused. ` +
        'Check recent releases of the gateway and of the normaliser; DEAD_LETTER_BREAKER=100 sends all of them to events.dead';
      reasons.set(`breaker ${partition}`, sentence);
      metrics.breaker.inc();
      log.error(
        { code: 'dead_letter_breaker', partition, retry_ms: config.DEAD_LETTER_BREAKER_RETRY },
        sentence,
      );
    },
  };
}
