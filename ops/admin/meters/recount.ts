import { recordAudit } from '../../../platform/audit.ts';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { countPeopleSeen } from '../../../platform/meters/people-seen.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { REQUIRED, OPTIONAL } from '../../../cli/arguments.ts';
import { adminCommand, idOption, requireAccount } from '../command.ts';
import { recountEvents } from './decide.ts';
import { monthOption } from './month-option.ts';
import { countRows, readKnown } from './read.ts';

// Adds the difference instead of setting the value: events counted meanwhile stay counted.
const WRITE = `INSERT INTO meters (account_id, meter, month, value)
  VALUES ($1, 'events', $2, greatest(0, $3::bigint)), ($1, 'profiles', $2, $4)
  ON CONFLICT (account_id, meter, month) DO UPDATE SET updated_at = now(),
    value = CASE meters.meter WHEN 'events' THEN greatest(0, meters.value + $3) ELSE greatest(meters.value, excluded.value) END
  RETURNING meter, value::float8 AS value`;

/**
 * `./ravand admin meters recount`: recounts the meters of a Jalali month from what is stored
 * (ingest 8). The rule for events is at recountEvents; people are counted as the profile meter
 * counts them, and never lower its high-water mark.
 */
export const metersRecount = adminCommand({
  name: 'meters recount',
  usage: 'meters recount --account ID [--month YYYY-MM]',
  options: { account: REQUIRED, month: OPTIONAL },
  async run(line, { database, env }) {
    const accountId = idOption(line.values, 'account');
    await requireAccount(database, accountId);
    const month = monthOption(line.values.month, Date.now());
    const warehouse = connectClickhouse({
      settings: parseSettings(clickhouseSettings, env),
      name: 'ravand-admin',
      requestTimeout: 310_000,
    });
    try {
      const known = await readKnown(database, { accountId, month });
      const counted = recountEvents(
        known.minutes,
        await countRows(warehouse, { accountId, month, ...known }),
      );
      const people = (await countPeopleSeen({ warehouse, month, accountId })).get(accountId) ?? 0;
      const difference = counted.events - known.meters.events;
      const answer = {
        events: { before: known.meters.events, ...counted },
        profiles: { before: known.meters.profiles, people },
      };
      await recordAudit(database, {
        accountId,
        actor: 'operator',
        action: 'meters.recounted',
        details: { month: month.key, ...answer },
      });
      const { rows } = await database.query<{ meter: string; value: number }>(WRITE, [
        accountId,
        month.key,
        difference,
        people,
      ]);
      const after = (meter: string) => rows.find((row) => row.meter === meter)?.value ?? 0;
      return {
        account_id: accountId,
        month: month.key,
        events: { before: answer.events.before, after: after('events'), counted },
        profiles: { before: answer.profiles.before, after: after('profiles'), counted: { people } },
      };
    } finally {
      await warehouse.close();
    }
  },
});
