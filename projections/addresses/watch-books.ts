import type { Registry } from 'prom-client';
import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { metricsOf } from '../../platform/metrics.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { readCommandTotals } from './books.ts';

const EVERY_MS = 15_000;

/** Shows what the books say as a metric, until the signal aborts. */
export async function watchBooks({
  database,
  registry,
  log,
  signal,
}: {
  database: Pick<Database, 'query'>;
  registry: Registry;
  log: Log;
  signal: AbortSignal;
}): Promise<void> {
  const missing = metricsOf(registry).gauge(
    'ravand_channel_commands_missing',
    'Commands of channels that a gateway answered 200 and that are not in channel.commands.',
  );
  while (!signal.aborted) {
    try {
      missing.set((await readCommandTotals(database)).missing);
    } catch (error) {
      log.debug({ err: error }, 'the books of commands cannot be read; retrying');
    }
    await delay(EVERY_MS, signal).catch(() => undefined);
  }
}
