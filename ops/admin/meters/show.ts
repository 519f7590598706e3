import { CHANNELS, MESSENGERS } from '../../../events/channels/channel-change.ts';
import { OPTIONAL, REQUIRED } from '../../../cli/arguments.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { adminCommand, idOption, requireAccount } from '../command.ts';
import { monthOption } from './month-option.ts';

/** Bale, Eitaa and Rubika are one meter (ingest 8). */
const MESSENGER = 'messenger';

/** The meters of messages: sent messages by channel. */
type MessageMeters = Record<string, number>;

interface Meters {
  events: number;
  profiles: number;
  messages: MessageMeters;
}

const READ = `SELECT meter AS name, value::float8 AS value, false AS is_channel FROM meters WHERE account_id = $1 AND month = $2
  UNION ALL SELECT channel, messages::float8, true FROM message_meters WHERE account_id = $1 AND month = $2`;

/** The meters of an account in a Jalali month; @param month YYYY-MM */
export async function readMeters(
  database: Pick<Database, 'query'>,
  { accountId, month }: { accountId: number; month: string },
): Promise<Meters> {
  const { rows } = await database.query<{ name: string; value: number; is_channel: boolean }>(
    READ,
    [accountId, month],
  );
  const messages: MessageMeters = Object.fromEntries(CHANNELS.map((one) => [meterOf(one), 0]));
  for (const { name, value, is_channel } of rows)
    if (is_channel) messages[meterOf(name)] = (messages[meterOf(name)] ?? 0) + value;
  const meter = (wanted: string) =>
    rows.find(({ name, is_channel }) => !is_channel && name === wanted)?.value ?? 0;
  return { events: meter('events'), profiles: meter('profiles'), messages };
}

function meterOf(channel: string): string {
  return MESSENGERS.some((one) => one === channel) ? MESSENGER : channel;
}

/**
 * `./ravand admin meters show`: what an account used in a Jalali month, this one by default
 * (ingest 8).
 */
export const metersShow = adminCommand({
  name: 'meters show',
  usage: 'meters show --account ID [--month YYYY-MM]',
  options: { account: REQUIRED, month: OPTIONAL },
  async run({ values }, { database }) {
    const accountId = idOption(values, 'account');
    const month = monthOption(values.month, Date.now()).key;
    await requireAccount(database, accountId);
    return { ...(await readMeters(database, { accountId, month })) };
  },
});
