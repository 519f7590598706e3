import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { tracedStep } from '../../platform/kafka/traced-task.ts';
import type { Log } from '../../platform/log.ts';
import { readEpochs, type EpochStart } from '../../platform/log/epochs.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Attributes } from '../../platform/tracing/spans.ts';
import { joinRowBatch } from '../../schemas/row-batch.ts';
import type { DeadLetterGuard, DeadShare } from './dead-letter-guard.ts';
import type { DeadLetters, SinkDeadLetter } from './dead-letters.ts';
import { decodeRecord, type DecodedRecord, type DecodeFailure } from './decode.ts';
import type { EventsTable } from './events-table.ts';
import { assemble, type AssembledBatch } from './insert-batch.ts';
import type { SinkMetrics } from './metrics.ts';
import { claimPartition, type Ownership } from './ownership.ts';
import {
  insertToken,
  isStale,
  plan,
  resume,
  type Action,
  type InsertLimits,
  type PartitionState,
} from './plan.ts';
import { storeOnce, type RefusedRow, type StoreResult } from './store-once.ts';

export interface SinkDeps {
  database: Database;
  eventsTable: EventsTable;
  deadLetters: DeadLetters;
  guard: DeadLetterGuard;
  metrics: SinkMetrics;
  log: Log;
  limits: InsertLimits;
  /** Key of its rows in sink_ranges. */
  sink: string;
  topic: string;
  /** Names this process in sink_ranges, for operators. */
  owner: string;
  now(): number;
}

interface Assignment {
  partition: number;
  committed: number | undefined;
  /** Aborts when the partition is revoked. */
  fenced: AbortSignal;
}

/** Becomes the owner of a partition and resumes where the former owner stopped. */
export async function openPartition(
  deps: SinkDeps,
  { partition, committed, fenced }: Assignment,
): Promise<PartitionTask> {
  const { database, sink, topic, owner } = deps;
  const log = deps.log.child({ topic, partition });
  const ownership = await claimPartition(
    { database, sink, topic, partition, owner },
    { log, signal: fenced },
  );
  const retrying = { log, signal: fenced };
  const epochs = await retryUntilAborted(
    { ...retrying, code: 'postgres_unreachable', what: 'reading the epochs of the log' },
    async (): Promise<readonly EpochStart[]> => (await readEpochs(database, topic)).of(partition),
  );
  const { range } = ownership.recorded;
  const state = resume(ownership.recorded, committed, epochs);
  // Rows of a range that cannot be repeated are read back: no insert of it may still run then.
  if (range && isStale(range, epochs))
    await retryUntilAborted(
      { ...retrying, code: 'clickhouse_unreachable', what: 'ending inserts of a former epoch' },
      () => deps.eventsTable.endQueries(`${insertToken({ topic, partition, range })}:`),
    );
  const { next, uncertain } = state;
  log.info(
    {
      owner_epoch: ownership.epoch,
      committed,
      from: next,
      ...(uncertain ? { repeats: insertToken({ topic, partition, range: uncertain }) } : {}),
    },
    'owns a partition',
  );
  return new SinkTask({ ...deps, log }, { partition, ownership, state, signal: fenced });
}

interface OwnedPartition {
  partition: number;
  ownership: Ownership;
  state: PartitionState;
  signal: AbortSignal;
}

/** Carries out what `plan` decides for one partition. */
class SinkTask implements PartitionTask {
  readonly from: number | undefined;
  readonly #deps: SinkDeps;
  readonly #owned: OwnedPartition;
  #state: PartitionState;
  /** Records that wait for the rest of the uncertain range. */
  #held: DecodedRecord[] = [];

  constructor(deps: SinkDeps, owned: OwnedPartition) {
    this.#deps = deps;
    this.#owned = owned;
    this.#state = owned.state;
    this.from = owned.state.next;
  }

  async process(messages: readonly ConsumedMessage[]): Promise<number | undefined> {
    const records = [...this.#held, ...messages.map(decodeRecord)];
    const summaries = records.map(({ summary }) => summary);
    const { actions, state, used } = plan(this.#state, summaries, this.#deps.limits);
    for (const action of actions) await this.#run(action, records);
    this.#held = records.slice(used);
    this.#state = state;
    return used > 0 ? state.next : undefined;
  }

  release(): Promise<void> {
    this.#held = [];
    return Promise.resolve();
  }

  async #run(action: Action, records: readonly DecodedRecord[]): Promise<void> {
    switch (action.kind) {
      case 'deadLetter': {
        const record = records.find(({ message }) => message.offset === action.offset);
        if (!record?.failure) return;
        while (!(await this.#admits({ processed: 1, dead: 1 })));
        await this.#deadLetterRecord(record, { ...record.failure, events: 0 });
        return;
      }
      case 'store': {
        const { topic, log } = this.#deps;
        const { partition, ownership, signal } = this.#owned;
        const { range, slices, repeat } = action;
        const token = insertToken({ topic, partition, range });
        const batch = assemble({ token, partition, slices, records });
        await ownership.record(range, this.#state.unsure, { log, signal });
        const offsets = new Set(slices.map(({ offset }) => offset));
        const stored = records
          .map(({ message }) => message)
          .filter((one) => offsets.has(one.offset));
        await tracedStep(stored, { name: 'INSERT events', attributes: () => insertOf(batch) }, () =>
          this.#store(batch, repeat),
        );
      }
    }
  }

  async #store(batch: AssembledBatch, repeat: boolean): Promise<void> {
    const { eventsTable, log, metrics, guard } = this.#deps;
    const { ownership, signal } = this.#owned;
    const started = performance.now();
    const options = {
      eventsTable,
      log,
      signal,
      ownerEpoch: ownership.epoch,
      confirm: () => ownership.confirm({ log, signal }),
      onRecover: () => metrics.recovered(),
      isHopeless: (share: DeadShare) => guard.refuses(share),
    };
    let result = await storeOnce(options, batch, repeat);
    // Held back: ClickHouse may accept the refused rows by the next attempt, which finds what is
    // stored. After an early stop of the recovery some rows were not attempted.
    while (!(await this.#admits(shareOf(batch, result, repeat))) || result.hopeless)
      result = await storeOnce(options, batch, true);
    for (const record of batch.broken()) {
      const detail = 'the rows of the row batch cannot be decoded';
      const events = record.rowBatch.count;
      await this.#deadLetterRecord(record, { reason: 'broken_rows', detail, events });
    }
    for (const row of result.refused) await this.#deadLetterRow(batch, row);
    if (result.stored > 0)
      metrics.stored({
        rows: result.stored,
        bytes: batch.bytes,
        duration: performance.now() - started,
        age: this.#deps.now() - batch.oldest,
      });
  }

  #admits(share: DeadShare): Promise<boolean> {
    const { guard, log } = this.#deps;
    const { partition, signal } = this.#owned;
    return guard.admits(partition, share, { log, signal });
  }

  async #deadLetterRecord(
    { message }: DecodedRecord,
    failure: DecodeFailure & { events: number },
  ): Promise<void> {
    const { topic, partition, offset, key, timestamp, value } = message;
    await this.#deadLetter({
      ...failure,
      topic,
      partition,
      offset,
      index: null,
      account_id: null,
      message_id: '',
      appended_at: timestamp,
      key,
      value: value ?? Buffer.alloc(0),
    });
  }

  /** The dead letter carries the row as a row batch of its own, so that a redrive can store it. */
  async #deadLetterRow(batch: AssembledBatch, refused: RefusedRow): Promise<void> {
    const { row, code, detail } = refused;
    const { record, index } = batch.origin(row);
    const { topic, partition, offset, key, timestamp } = record.message;
    const head = {
      ...record.rowBatch.head,
      epoch: row.position.epoch,
      first_offset: row.position.offset,
      first_index: row.position.index,
      last_offset: row.position.offset,
      last_index: row.position.index,
    };
    await this.#deadLetter({
      reason: code,
      detail,
      events: 1,
      topic,
      partition,
      offset,
      index,
      account_id: row.account_id,
      message_id: row.message_id,
      appended_at: timestamp,
      key,
      value: joinRowBatch({ version: batch.version, head, count: 1, rows: row.datum }),
    });
  }

  async #deadLetter(deadLetter: SinkDeadLetter): Promise<void> {
    const { deadLetters, log, metrics } = this.#deps;
    await deadLetters.send(deadLetter, { log, signal: this.#owned.signal });
    metrics.dead(deadLetter.events);
  }
}

/** What the span of an insert says. */
function insertOf({ token, count }: AssembledBatch): Attributes {
  return {
    'db.system.name': 'clickhouse',
    'db.collection.name': 'events',
    'ravand.insert_token': token,
    'ravand.rows': count,
  };
}

/**
 * The input of the circuit breaker. A repeated batch may be stored already and says nothing about
 * the current table, except through the rows that are refused.
 */
function shareOf(
  batch: AssembledBatch,
  { refused, hopeless }: StoreResult,
  repeat: boolean,
): DeadShare {
  const broken = batch.broken().reduce((sum, { rowBatch }) => sum + rowBatch.count, 0);
  const dead = refused.length + broken;
  return { dead, processed: hopeless || repeat ? dead : batch.count };
}
