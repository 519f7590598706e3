import type { ChannelChange } from '../../events/channels/channel-change.ts';
import type { CommandOrder } from '../../events/channels/command-order.ts';
import type { CommandWriter } from '../../ingest/command-writer.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { RecordChange } from './recipients.ts';

/** An opt-out that is durable on a gateway's disk, and not in the log yet. */
export interface SpooledOptOut extends Pick<ChannelChange, 'channel'> {
  accountId: number;
  userId: string;
  command: CommandOrder;
}

/** Rejects when it cannot be announced. */
export type AnnounceOptOut = (optOut: SpooledOptOut) => Promise<void>;

/** Longest wait of a person, ms. */
const ANNOUNCE = { ms: 2000, waitingFor: 'the announcement of an opt-out' };

export interface OptOutCounts {
  announced: number;
  /** Answered 503. */
  unannounced: number;
}

/**
 * Records changes, and announces opt-outs that Kafka does not have yet to those who send: nothing
 * marketing may leave a minute after somebody unsubscribed (ARCHITECTURE.md, M6). An opt-out
 * that is neither in the log nor announced is answered 503; it counts all the same once the spool
 * is published.
 */
export function announcingOptOuts(options: {
  commands: Pick<CommandWriter, 'write'>;
  announce: AnnounceOptOut;
  counts: OptOutCounts;
  onFailed: (error: unknown) => void;
}): RecordChange {
  const { commands, announce, counts, onFailed } = options;
  return async (change, facts) => {
    if (change.consent?.state !== 'unsubscribed') return commands.write(change, facts);
    const spooled: CommandOrder[] = [];
    const isDurable = await commands.write(change, facts, (command) => spooled.push(command));
    const [command] = spooled;
    if (!isDurable || !command) return isDurable;
    const { accountId } = facts.principal;
    const { user_id: userId, channel } = change;
    try {
      await withDeadline(ANNOUNCE, announce({ accountId, userId, channel, command }));
      counts.announced++;
      return true;
    } catch (error) {
      counts.unannounced++;
      onFailed(error);
      return false;
    }
  };
}

/** A later opt-out replaces an earlier one. */
const ANNOUNCED = `INSERT INTO announced_opt_outs AS a (account_id, user_id, channel, received_at, gateway, sequence) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (account_id, user_id, channel) DO UPDATE SET received_at = excluded.received_at, gateway = excluded.gateway, sequence = excluded.sequence
  WHERE (a.received_at, a.gateway COLLATE "C", a.sequence) < (excluded.received_at, excluded.gateway COLLATE "C", excluded.sequence)`;

/** Announces in PostgreSQL, which those who send read with each message. */
export function connectAnnouncements(database: Pick<Database, 'query'>): AnnounceOptOut {
  return async ({ accountId, userId, channel, command }) => {
    const { received_at, gateway, sequence } = command;
    const values = [accountId, escapeText(userId), channel, received_at, gateway, sequence];
    await database.query(ANNOUNCED, values);
  };
}
