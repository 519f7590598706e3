import { topicEnds } from '../../../platform/kafka/admin.ts';
import { RangeReader, readRange } from '../../../platform/kafka/read-range.ts';
import { partitionPositionKey } from '../../../schemas/log-position.ts';
import { decodeIfReadable, rawRecordCodec } from '../../../schemas/codec.ts';
import { METERING_READER, TOPIC } from '../../../schemas/topology.ts';
import { prepare } from '../../dlq/candidate.ts';
import { indexDeadLetters } from '../../dlq/dead-letter-index.ts';
import { recoverInterrupted } from '../../dlq/recover.ts';
import { openTools, type RedriveTools } from '../../dlq/redrive-tools.ts';
import { markRowsStored } from '../../dlq/store-rows.ts';
import type { Connections } from '../../jobs/connections.ts';

export interface RecoveredDeadLetters {
  /** Of the normaliser: their new records are in events.raw. */
  redriven: number;
  /** Of the sink: their rows are stored. */
  stored: number;
  uncertain: number;
}

/** Dead letters of the sink that are looked up at once. */
const PAGE = 200;

// Made to look like a redrive that was killed: the next step finds out what of it is in the log.
// Its time is old enough not to be waited for.
const FOUND = `UPDATE dead_letters SET state = 'redriving', attempt = 'restored', attempt_at = clock_timestamp() - interval '20 seconds', raw_end = found.at, changed_at = now()
  FROM unnest($2::bigint[], $3::int[], $4::int[], $5::bigint[]) AS found (record, first, items, at)
  WHERE topic = '${TOPIC.raw}' AND partition = $1 AND record_offset = found.record AND state = 'dead'
    AND (item IS NULL OR item BETWEEN found.first AND found.first + found.items - 1) RETURNING fingerprint`;

/**
 * Finds the dead letters that were redriven after the restored state, in events.raw and in
 * ClickHouse, so that nothing is redriven twice.
 */
export async function recoverDeadLetters(
  connections: Connections,
  { dryRun, signal }: { dryRun: boolean; signal: AbortSignal },
): Promise<RecoveredDeadLetters> {
  const { database, settings } = connections;
  const reader = new RangeReader({ settings, clientId: 'ravand-dlq', profile: 'interactive' });
  const operator = connections;
  const { tools, close } = await openTools({ operator, database, reader });
  const result: RecoveredDeadLetters = { redriven: 0, stored: 0, uncertain: 0 };
  try {
    while (!(await indexDeadLetters({ operator, database, reader }))) signal.throwIfAborted();
    const groups = await findRedriven(connections, { dryRun, signal, result });
    for (const group of groups) {
      const { recovered, uncertain } = await recoverInterrupted(tools, group);
      result.redriven += recovered;
      result.uncertain += uncertain;
    }
    await findStored(tools, { dryRun, result });
  } finally {
    await close();
    await reader.close();
  }
  return result;
}

interface Search {
  dryRun: boolean;
  signal: AbortSignal;
  result: RecoveredDeadLetters;
}

/** Groups of dead letters whose redriven records follow what metering had counted. */
async function findRedriven(
  { database, admin, settings }: Connections,
  { dryRun, signal, result }: Search,
): Promise<Set<string>> {
  const { rows } = await database.query<{ partition: number; next_offset: string }>(
    'SELECT partition, next_offset FROM log_positions WHERE reader = $1 AND topic = $2',
    [METERING_READER, TOPIC.raw],
  );
  const counted = new Map(rows.map((row) => [row.partition, Number(row.next_offset)]));
  const groups = new Set<string>();
  for (const { partition, low, high } of await topicEnds(admin, TOPIC.raw)) {
    const from = Math.max(low, counted.get(partition) ?? low);
    const range = { topic: TOPIC.raw, partition, from, to: high };
    for await (const messages of readRange({ settings, clientId: 'ravand-dlq', range, signal })) {
      const found = messages.flatMap(({ value, offset }) => {
        const record = decodeIfReadable(rawRecordCodec, value);
        const origin = record?.redriven_from;
        return record && origin ? [{ offset, origin, items: record.items.length }] : [];
      });
      if (dryRun) result.redriven += found.length;
      if (found.length === 0 || dryRun) continue;
      const answer = await database.query<{ fingerprint: string }>(FOUND, [
        partition,
        found.map(({ origin }) => origin.offset),
        found.map(({ origin }) => origin.index),
        found.map(({ items }) => items),
        found.map(({ offset }) => offset),
      ]);
      for (const { fingerprint } of answer.rows) groups.add(fingerprint);
    }
  }
  return groups;
}

/** Dead letters of the sink whose rows are stored: a redrive after the restored state did it. */
async function findStored(
  tools: RedriveTools,
  { dryRun, result }: Pick<Search, 'dryRun' | 'result'>,
): Promise<void> {
  const { store, eventsTable, database, attempt } = tools;
  const groups = (await store.counts()).filter(
    ({ stage, state }) => stage === 'project' && state === 'dead',
  );
  for (const { fingerprint } of groups) {
    for (let after: string | undefined; ;) {
      const page = await store.ofGroup(fingerprint, { state: 'dead', limit: PAGE, after });
      if (page.length === 0) break;
      after = page.at(-1)?.key;
      for (const known of page) {
        const candidate = await prepare(tools, known);
        if (candidate.kind !== 'rows' || candidate.rows.length === 0) continue;
        const { keys } = await eventsTable.stored(candidate.partition, candidate.rows);
        const missing = candidate.rows.filter(
          (row) => !keys.has(partitionPositionKey(row.position)),
        );
        if (missing.length > 0) continue;
        const { key, index } = known;
        const counted = index === null ? [] : candidate.rows;
        if (!dryRun) {
          if (!(await store.begin([{ key, rawEnd: null }], attempt)).has(key)) continue;
          await markRowsStored(database, { stored: [{ key, counted }], attempt });
        }
        result.stored++;
      }
    }
  }
}
