import type { ClickHouseClient } from '@clickhouse/client';
import { delay } from '../../platform/backoff.ts';

/** Between two looks at the merges, ms. */
const LOOK_MS = 500;
/** The table is exchanged after that, however many parts it has, ms. */
const LIMIT_MS = 3_600_000;

/**
 * Merges the parts of a table to one. What asks a table for single rows asks the index of each part
 * (docs/performance.md, Loads among many people), and the parts of a rebuild are merged by age only
 * a day later. Resolves also when the server cannot merge, for want of disk; rejects when it does
 * not answer, or at the signal.
 */
export async function mergeParts(
  client: Pick<ClickHouseClient, 'command' | 'query'>,
  { table, signal }: { table: string; signal: AbortSignal },
): Promise<void> {
  await client
    .command({
      query: `OPTIMIZE TABLE ${table} FINAL`,
      clickhouse_settings: { optimize_skip_merged_partitions: 1 },
      abort_signal: signal,
    })
    // The client gives the statement up before a large merge ends; the server does not.
    .catch(() => signal.throwIfAborted());
  const deadline = performance.now() + LIMIT_MS;
  while (performance.now() < deadline && (await isMerging(client, { table, signal })))
    await delay(LOOK_MS, signal);
}

async function isMerging(
  client: Pick<ClickHouseClient, 'query'>,
  { table, signal }: { table: string; signal: AbortSignal },
): Promise<boolean> {
  const answer = await client.query({
    query:
      'SELECT count() AS running FROM system.merges WHERE database = currentDatabase() AND table = {table:String}',
    query_params: { table },
    format: 'JSONEachRow',
    abort_signal: signal,
  });
  const [found] = await answer.json<{ running: string }>();
  return Number(found?.running) > 0;
}
