import type { Registry } from 'prom-client';
import { dayText, startOfTehranDay, tehranDay } from '../../../events/tehran-time.ts';
import { delay } from '../../../platform/backoff.ts';
import type { Log } from '../../../platform/log.ts';
import { metricsOf } from '../../../platform/metrics.ts';
import { checkAccount, lackingProfiles, sharesOf, type CheckContext } from './check-account.ts';

interface NightlyOptions extends CheckContext {
  log: Log;
  registry: Registry;
  /** Hour in Tehran after which a day's check begins. */
  hour: number;
}

const HOUR = 3_600_000;
/** Interval between two looks at the clock and at the differences, ms. */
const INTERVAL_MS = 60_000;

// Whoever inserts the row of the account runs its check; one without an end was killed.
const CLAIM = `INSERT INTO profile_checks (account_id, day)
  SELECT id, $1::date FROM accounts WHERE NOT EXISTS (
    SELECT 1 FROM profile_checks c WHERE c.account_id = accounts.id AND c.day = $1::date
      AND (c.finished_at IS NOT NULL OR c.started_at > clock_timestamp() - interval '1 hour'))
  ORDER BY id LIMIT 1
  ON CONFLICT (account_id, day) DO UPDATE SET started_at = clock_timestamp()
    WHERE profile_checks.finished_at IS NULL AND profile_checks.started_at <= clock_timestamp() - interval '1 hour'
  RETURNING account_id`;
const FINISH =
  'UPDATE profile_checks SET finished_at = clock_timestamp(), compared = $3 WHERE account_id = $1 AND day = $2::date';

/**
 * Compares one share of the profiles of every account with their events once a day, whatever number
 * of processes runs. Resolves when the signal aborts.
 */
export async function checkNightly(options: NightlyOptions): Promise<void> {
  const { database, log, registry, hour, signal } = options;
  const metrics = metricsOf(registry);
  const compared = metrics.counter(
    'ravand_profiles_checked_total',
    'Profiles that were compared with their events.',
  );
  const failures = metrics.counter(
    'ravand_profiles_check_failures_total',
    'Comparisons of profiles with their events that failed; they are repeated.',
  );
  const differing = metrics.gauge(
    'ravand_profiles_differing',
    'Profiles found to lack events that are stored (./ravand profiles check). Must be 0.',
  );
  const checkNext = async (day: number): Promise<boolean> => {
    const text = dayText(day);
    const { rows } = await database.query<{ account_id: string }>(CLAIM, [text]);
    const accountId = Number(rows[0]?.account_id);
    if (!rows[0]) return false;
    const shares = await sharesOf(options, accountId);
    const selection = { share: day % shares, shares };
    const result = await checkAccount(options, { accountId, selection });
    await database.query(FINISH, [accountId, text, result.compared]);
    compared.inc(result.compared);
    if (result.differing > 0)
      log.error(
        { code: 'profiles_differ', account_id: accountId, count: result.differing },
        'profiles and events differ: ./ravand profiles check',
      );
    return true;
  };
  const stopped = () => signal.aborted;
  while (!stopped()) {
    await delay(INTERVAL_MS, signal).catch(() => undefined);
    if (stopped()) return;
    try {
      const now = Date.now();
      const today = tehranDay(now);
      if (now - startOfTehranDay(today) >= hour * HOUR)
        while (!stopped() && (await checkNext(today)));
      await database.query("DELETE FROM profile_checks WHERE day < now() - interval '30 days'");
      differing.set(await lackingProfiles(database));
    } catch (error) {
      if (stopped()) return;
      failures.inc();
      const message = error instanceof Error ? error.message : String(error);
      log.warn({ code: 'profiles_check_waiting' }, `comparing profiles failed (${message})`);
    }
  }
}
