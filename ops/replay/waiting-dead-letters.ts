import { standsFor } from '../../pipeline/dead-letters/dead-letter.ts';
import { epochAsOf, readEpochs, type TopicEpochs } from '../../platform/log/epochs.ts';
import { RangeReader } from '../../platform/kafka/read-range.ts';
import { partitionPositionKey } from '../../schemas/log-position.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { indexDeadLetters } from '../dlq/dead-letter-index.ts';
import { failedBytes, readDeadLetter } from '../dlq/read-dead-letter.ts';
import { rowsOfDeadLetter } from '../dlq/store-rows.ts';
import type { Connections } from '../jobs/connections.ts';
import type { SourceEvent } from './source.ts';

interface Located {
  dead_partition: number;
  dead_offset: number;
}

type FailedItems = Located & { record_offset: number; item: number | null; items: number[] | null };

const OF_RECORDS = `SELECT dead_partition, dead_offset::float8, record_offset::float8, item, items FROM dead_letters
  WHERE topic = '${TOPIC.raw}' AND partition = $1 AND record_offset = ANY ($2::bigint[])`;
const OF_ROWS = `SELECT DISTINCT letter AS key, dead_partition, dead_offset::float8 FROM dead_letters
  JOIN unnest($1::bigint[], $2::text[]) AS wanted (account_id, message_id) USING (account_id, message_id)
  WHERE stage = 'project' AND item IS NOT NULL AND state IN ('dead', 'redriving', 'discarded')`;

/**
 * Finds events without a row that have a dead letter: `./ravand dlq redrive` alone brings them
 * back. Of a replayed range every dead letter is in events.dead already, because the range ends
 * where the live services have processed everything; so the index is brought up to date once.
 */
export class WaitingDeadLetters {
  readonly #connections: Connections;
  readonly #signal: AbortSignal;
  readonly #reader: RangeReader;
  #opened: Promise<{ raw: TopicEpochs; dead: TopicEpochs }> | undefined;

  constructor(connections: Connections, signal: AbortSignal) {
    this.#connections = connections;
    this.#signal = signal;
    const { settings } = connections;
    this.#reader = new RangeReader({ settings, clientId: 'ravand-replay', profile: 'interactive' });
  }

  /** Those of the events, all of one partition, that wait. */
  async among(events: readonly SourceEvent[]): Promise<Set<SourceEvent>> {
    if (events.length === 0) return new Set();
    const epochs = await (this.#opened ??= this.#open());
    const unknown = events.filter(({ verdictsKnown, verdict }) => !verdictsKnown && !verdict);
    const failed = await this.#failedItems(unknown);
    const refused = await this.#refusedRows(events.filter(({ row }) => row));
    return new Set([
      ...unknown.filter((event) =>
        failed.some((known) => {
          const { record_offset: offset, item: index, items: indexes } = known;
          // The dead letter names an offset of the log as it was when it was written.
          const writtenIn = epochs.dead.at(known.dead_partition, known.dead_offset);
          return (
            offset === event.at.offset &&
            standsFor({ index, indexes }, event.at.index) &&
            epochAsOf(epochs.raw.of(event.partition), offset, writtenIn) === event.epoch
          );
        }),
      ),
      ...events.filter((event) => refused.has(keyOf(event))),
    ]);
  }

  async close(): Promise<void> {
    await this.#reader.close();
  }

  async #open(): Promise<{ raw: TopicEpochs; dead: TopicEpochs }> {
    const { database } = this.#connections;
    const options = { operator: this.#connections, database, reader: this.#reader };
    while (!(await indexDeadLetters(options))) this.#signal.throwIfAborted();
    return {
      raw: await readEpochs(database, TOPIC.raw),
      dead: await readEpochs(database, TOPIC.dead),
    };
  }

  /** Dead letters of the normaliser about these positions, for which no verdict is retained. */
  async #failedItems(events: readonly SourceEvent[]): Promise<FailedItems[]> {
    const [first] = events;
    if (!first) return [];
    const offsets = [...new Set(events.map(({ at }) => at.offset))];
    const { database } = this.#connections;
    return (await database.query<FailedItems>(OF_RECORDS, [first.partition, offsets])).rows;
  }

  /** Keys of the rows that ClickHouse refused; the reconciliation counts them as dead. */
  async #refusedRows(events: readonly SourceEvent[]): Promise<Set<string>> {
    if (events.length === 0) return new Set();
    const { rows } = await this.#connections.database.query<Located & { key: string }>(OF_ROWS, [
      events.map(({ accountId }) => accountId),
      // As the index stores it: PostgreSQL text cannot hold NUL.
      events.map(({ messageId }) => messageId.replaceAll('\0', '')),
    ]);
    const keys = new Set<string>();
    for (const known of rows) {
      const deadLetter = await readDeadLetter(this.#reader, known);
      const bytes = deadLetter && (await failedBytes(this.#reader, deadLetter));
      const found = bytes && rowsOfDeadLetter(deadLetter, bytes);
      if (found === undefined || typeof found === 'string') continue;
      for (const { position } of found.rows)
        keys.add(`${found.partition} ${partitionPositionKey(position)}`);
    }
    return keys;
  }
}

function keyOf({ partition, epoch, at }: SourceEvent): string {
  return `${partition} ${partitionPositionKey({ epoch, ...at })}`;
}
