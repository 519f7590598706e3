import type { ClickHouseClient } from '@clickhouse/client';
import { startOfTehranDay, tehranDay } from '../../events/tehran-time.ts';
import { keptFrom, type Retentions } from '../../pipeline/replay/kept-until.ts';
import { addedRow } from '../../projections/catalogue/added.ts';
import { CatalogueCounter } from '../../projections/catalogue/count.ts';
import type { Target } from './target.ts';

interface CatalogueTargetOptions {
  client: ClickHouseClient;
  table: string;
  retentions: Retentions;
  /** ms since the epoch */
  now: number;
}

const ROWS_AN_INSERT = 20_000;
/** Batches between two looks at what changed: bounds the finished chunks in memory. */
const COLLECT_EVERY = 50;

/**
 * Counts rows into a table like `event_catalogue`. Days before an account's retention are left out
 * as a whole, as they are in the live table. The rows name no offset of events.normalised:
 * catalogue-sink reads that from its beginning once, and counts its newest chunk anew.
 */
export function catalogueTarget({
  client,
  table,
  retentions,
  now,
}: CatalogueTargetOptions): Target {
  const counters = new Map<number, CatalogueCounter>();
  let waiting: object[] = [];
  let taken = 0;
  const send = async () => {
    const values = waiting;
    waiting = [];
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
        waiting.push({ ...row, chunk_from: 0, last_seen: new Date(row.last_seen).toISOString() });
  };
  return {
    async take({ partition, rows, revived }) {
      let counter = counters.get(partition);
      if (!counter) counters.set(partition, (counter = new CatalogueCounter(partition)));
      // A whole day is kept or not: the day on which the retention ends is still there.
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
        waiting.push({ ...rest, last_seen: new Date(last_seen).toISOString() });
      }
      if (++taken % COLLECT_EVERY === 0) collect();
      if (waiting.length >= ROWS_AN_INSERT) await send();
    },
    async flush() {
      collect();
      await send();
    },
  };
}
