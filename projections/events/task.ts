import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { joinRowBatch } from '../../schemas/row-batch.ts';
import { assemble, type AssembledBatch } from './batch.ts';
import type { DeadLetterGuard, DeadShare } from './dead-letter-guard.ts';
import type { DeadLetters } from './dead-letters.ts';
import { readRecord, type Flaw, type ReadRecord } from './entry.ts';
import { plan, takeOver, tokenOf, type Action, type Limits, type PartitionState } from './plan.ts';
import { claimPartition, type Ownership } from './ranges.ts';
import type { SinkMetrics } from './sink-metrics.ts';
import type { Warehouse } from './warehouse.ts';
import { storeOnce, type Refused } from './write.ts';

export interface SinkParts {
  database: Database;
  warehouse: Warehouse;
  deadLetters: DeadLetters;
  guard: DeadLetterGuard;
  metrics: SinkMetrics;
  log: Log;
  limits: Limits;
  /** Names the rows of sink_ranges. */
  sink: string;
  topic: string;
  /** Name of this process, for people. */
  owner: string;
  now(): number;
}

interface Assignment {
  partition: number;
  committed: number | undefined;
  fenced: AbortSignal;
}

/** Becomes the owner of a partition and takes up where the last owner stopped. */
export async function openPartition(
  parts: SinkParts,
  { partition, committed, fenced }: Assignment,
): Promise<PartitionTask> {
  const { database, sink, topic, owner } = parts;
  const log = parts.log.child({ topic, partition });
  const ownership = await claimPartition(
    { database, sink, topic, partition, owner },
    { log, signal: fenced },
  );
  const standing = takeOver(ownership.recorded, committed);
  const { next, unsettled } = standing;
  log.info(
    {
      owner_epoch: ownership.epoch,
      committed,
      from: next,
      ...(unsettled ? { repeats: tokenOf({ topic, partition, range: unsettled }) } : {}),
    },
    'owns a partition',
  );
  return new SinkTask({ ...parts, log }, { partition, ownership, standing, signal: fenced });
}

interface Owned {
  partition: number;
  ownership: Ownership;
  standing: PartitionState;
  signal: AbortSignal;
}

/** Carries out what `plan` decides for one partition. */
class SinkTask implements PartitionTask {
  readonly from: number | undefined;
  readonly #parts: SinkParts;
  readonly #owned: Owned;
  #standing: PartitionState;
  #held: ReadRecord[] = [];

  constructor(parts: SinkParts, owned: Owned) {
    this.#parts = parts;
    this.#owned = owned;
    this.#standing = owned.standing;
    this.from = owned.standing.next;
  }

  async process(messages: readonly ConsumedMessage[]): Promise<number | undefined> {
    const records = [...this.#held, ...messages.map(readRecord)];
    const planned = plan(
      this.#standing,
      records.map(({ entry }) => entry),
      this.#parts.limits,
    );
    for (const action of planned.actions) await this.#act(action, records);
    this.#held = records.slice(planned.used);
    this.#standing = planned.standing;
    return planned.used > 0 ? planned.standing.next : undefined;
  }

  release(): Promise<void> {
    this.#held = [];
    return Promise.resolve();
  }

  async #act(action: Action, records: readonly ReadRecord[]): Promise<void> {
    switch (action.kind) {
      case 'bury': {
        const record = records.find(({ message }) => message.offset === action.offset);
        if (!record?.flaw) return;
        while (!(await this.#admits({ processed: 1, dead: 1 })));
        await this.#buryRecord(record, record.flaw, 0);
        return;
      }
      case 'store': {
        const { topic } = this.#parts;
        const { partition, ownership, signal } = this.#owned;
        const batch = assemble({
          token: tokenOf({ topic, partition, range: action.range }),
          partition,
          pieces: action.pieces,
          records,
        });
        await ownership.record(action.range, { log: this.#parts.log, signal });
        await this.#store(batch, action.repeat);
      }
    }
  }

  async #store(batch: AssembledBatch, repeat: boolean): Promise<void> {
    const { warehouse, log, metrics, guard } = this.#parts;
    const { ownership, signal } = this.#owned;
    const began = performance.now();
    const confirm = () => ownership.confirm({ log, signal });
    const isHopeless = (share: DeadShare) => guard.refuses(share);
    const options = {
      warehouse,
      log,
      signal,
      ownerEpoch: ownership.epoch,
      confirm,
      onSettle: () => metrics.settled(),
      isHopeless,
    };
    let outcome = await storeOnce(options, batch, repeat);
    // Held back, and tried again: what was refused may be taken by then, and what was stored is
    // found there. Of a batch that was given up rows are left to look at.
    while (!(await this.#admits(shareOf(batch, outcome, repeat))) || outcome.hopeless)
      outcome = await storeOnce(options, batch, true);
    const { refused, stored } = outcome;
    for (const record of batch.broken()) {
      await this.#buryRecord(
        record,
        { reason: 'broken_rows', detail: 'the rows of the run cannot be read' },
        record.run.count,
      );
    }
    for (const one of refused) await this.#buryRow(batch, one);
    if (stored > 0)
      metrics.stored({
        rows: stored,
        bytes: batch.bytes,
        took: performance.now() - began,
        age: this.#parts.now() - batch.oldest,
      });
  }

  async #admits(share: DeadShare): Promise<boolean> {
    const { guard, log } = this.#parts;
    const { partition, signal } = this.#owned;
    return guard.admits(partition, share, { log, signal });
  }

  async #buryRecord({ message }: ReadRecord, flaw: Flaw, events: number): Promise<void> {
    const { topic, partition, offset, key, timestamp, value } = message;
    const rest = {
      index: null,
      account_id: null,
      message_id: '',
      appended_at: timestamp,
      key,
      value: value ?? Buffer.alloc(0),
    };
    await this.#bury({ ...flaw, events, topic, partition, offset, ...rest });
  }

  async #buryRow(batch: AssembledBatch, { row, code, detail }: Refused): Promise<void> {
    const { record, index } = batch.origin(row);
    const { topic, partition, offset, key, timestamp } = record.message;
    const { epoch, offset: at, index: item } = row.mark;
    const head = {
      ...record.run.head,
      epoch,
      first_offset: at,
      first_index: item,
      last_offset: at,
      last_index: item,
    };
    const value = joinRowBatch({ head, count: 1, rows: row.datum });
    const { account_id, message_id } = row;
    const letter = {
      reason: code,
      detail,
      events: 1,
      topic,
      partition,
      offset,
      index,
      account_id,
      message_id,
      appended_at: timestamp,
      key,
      value,
    };
    await this.#bury(letter);
  }

  async #bury(letter: Parameters<DeadLetters['bury']>[0]): Promise<void> {
    const { deadLetters, log, metrics } = this.#parts;
    await deadLetters.bury(letter, { log, signal: this.#owned.signal });
    metrics.dead(letter.events);
  }
}

function brokenRows(batch: AssembledBatch): number {
  return batch.broken().reduce((sum, { run }) => sum + run.count, 0);
}

/**
 * A batch that an owner before may have stored says nothing about the table now, apart from what is
 * refused of it.
 */
function shareOf(
  batch: AssembledBatch,
  { refused, hopeless }: { refused: readonly Refused[]; hopeless: boolean },
  repeat: boolean,
): DeadShare {
  const dead = refused.length + brokenRows(batch);
  return { dead, processed: hopeless || repeat ? dead : batch.count };
}
