import type { Registry } from 'prom-client';
import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { metricsOf } from '../../platform/metrics.ts';
import type { Database } from '../../platform/postgres/pool.ts';

type Queries = Pick<Database, 'query'>;

const EVERY_MS = 15_000;

const REMOVE = `DELETE FROM announced_opt_outs a USING channel_consents c
  WHERE c.account_id = a.account_id AND c.user_id = a.user_id AND c.channel = a.channel
    AND (c.received_at, c.gateway COLLATE "C", c.sequence) >= (a.received_at, a.gateway COLLATE "C", a.sequence)`;
const WAITING = `SELECT count(*)::int AS waiting, coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS oldest FROM announced_opt_outs`;

export interface WaitingOptOuts {
  waiting: number;
  /** Age of the oldest one, s. */
  oldest: number;
}

/**
 * Removes the announced opt-outs whose commands, or later ones, are in the consents; resolves with
 * what is left: their gateways have not published them yet.
 */
export async function removeCaughtUp(database: Queries): Promise<WaitingOptOuts> {
  await database.query(REMOVE);
  const { rows } = await database.query<WaitingOptOuts>(WAITING);
  return rows[0] ?? { waiting: 0, oldest: 0 };
}

/** Does so now and then, and shows what is left as metrics, until the signal aborts. */
export async function watchAnnouncedOptOuts({
  database,
  registry,
  log,
  signal,
}: {
  database: Queries;
  registry: Registry;
  log: Log;
  signal: AbortSignal;
}): Promise<void> {
  const metrics = metricsOf(registry);
  const waiting = metrics.gauge(
    'ravand_announced_opt_outs',
    'Opt-outs that wait in the spools of gateways; those who send obey them already.',
  );
  const oldest = metrics.gauge(
    'ravand_announced_opt_outs_oldest_seconds',
    'Age of the oldest opt-out that waits in the spool of a gateway.',
  );
  while (!signal.aborted) {
    try {
      const left = await removeCaughtUp(database);
      waiting.set(left.waiting);
      oldest.set(left.oldest);
    } catch (error) {
      log.debug({ err: error }, 'the announced opt-outs cannot be read; retrying');
    }
    await delay(EVERY_MS, signal).catch(() => undefined);
  }
}
