import type { Admin } from 'kafkajs';
import { topicEnds } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { CommandError } from '../../cli/command.ts';
import { timeText } from '../../cli/format.ts';

const DAY = 86_400_000;

interface ReachOptions {
  settings: KafkaSettings;
  admin: Admin;
  topic: string;
  /** Days that the table keeps; undefined: everything. */
  keeps: number | undefined;
  /** ms since the epoch */
  now: number;
  signal: AbortSignal;
}

/**
 * Throws Refusal when the log does not hold everything that the table must hold: a table that was
 * filled from it would lack events and look complete.
 */
export async function requireReach(options: ReachOptions): Promise<void> {
  const { settings, admin, topic, keeps, now, signal } = options;
  for (const { partition, low, high } of await topicEnds(admin, topic)) {
    if (low === 0) continue;
    const what = `${topic} ${partition} begins at offset ${low}`;
    if (keeps === undefined)
      throw new CommandError(
        `${what}: this table is made of everything that ever happened, so the log must reach back to its beginning. Nothing was changed`,
      );
    if (low === high)
      throw new CommandError(
        `${what} and is empty: the table cannot be filled from it. Nothing was changed`,
      );
    for await (const [first] of readRange({
      settings,
      clientId: 'ravand-rebuild',
      range: { topic, partition, from: low, to: low + 1 },
      signal,
    })) {
      if (first && first.timestamp > now - keeps * DAY)
        throw new CommandError(
          `${what}, of ${timeText(first.timestamp)}: the table keeps ${keeps} days, so the log must reach back to ${timeText(now - keeps * DAY)}. Nothing was changed`,
        );
    }
  }
}
