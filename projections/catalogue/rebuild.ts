import type { ClickHouseClient } from '@clickhouse/client';
import { keptFrom, type Retentions } from '../../events/retention.ts';
import { startOfTehranDay, tehranDay } from '../../events/tehran-time.ts';
import type { RebuildTarget } from '../rebuild-target.ts';
import { addedRow } from './added.ts';
import { CatalogueCounter } from './count.ts';

interface CatalogueTargetOptions {
  client: ClickHouseClient;
  table: string;
  retentions: Retentions;
  /** ms since the epoch */
  now: number;
}

const ROWS_PER_INSERT = 20_000;
/** Batches between two collections of changed rows: bounds the finished chunks in memory. */
const COLLECT_EVERY = 50;

/**
 * Counts rows into a shadow table of `event_catalogue`. Days before an account's retention are left
 * out, as in the live table. `chunk_from` is 0: after the swap the catalogue sink reads
 * events.normalised from its beginning once and recounts its newest chunk.
 */
export function catalogueTarget({
  client,
  table,
  retentions,
  now,
}: CatalogueTargetOptions): RebuildTarget {
  const counters = new Map<number, CatalogueCounter>();
  let unsent: object[] = [];
  let batches = 0;
  const send = async () => {
    const values = unsent;
    unsent = [];
    if (values.length > 0)
      await client.insert({
        table,
        values,
        format: 'JSONEachRow',
        clickhouse_settings: { async_insert: 0 },
      });
  };
  const collect = () => {
    for (const counter of counters.values())
      for (const row of counter.changed())
        unsent.push({ ...row, chunk_from: 0, last_seen: new Date(row.last_seen).toISOString() });
  };
  return {
    async add({ partition, rows, revived }) {
      let counter = counters.get(partition);
      if (!counter) counters.set(partition, (counter = new CatalogueCounter(partition)));
      // Days are kept or dropped as a whole; the day on which the retention ends is kept.
      const kept = rows.filter(
        (row) =>
          row.timestamp >= startOfTehranDay(tehranDay(keptFrom(retentions, row.account_id, now))),
      );
      counter.add(
        0,
        kept.filter((row) => !revived.has(row)),
      );
      for (const row of kept) {
        if (!revived.has(row)) continue;
        const { last_seen, ...rest } = addedRow(row);
        unsent.push({ ...rest, last_seen: new Date(last_seen).toISOString() });
      }
      if (++batches % COLLECT_EVERY === 0) collect();
      if (unsent.length >= ROWS_PER_INSERT) await send();
    },
    async flush() {
      collect();
      await send();
    },
  };
}
