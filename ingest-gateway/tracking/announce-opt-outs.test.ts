import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { channelChange } from '../../events/channels/channel-change.ts';
import type { CommandOrder } from '../../events/channels/command-order.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import {
  announcingOptOuts,
  connectAnnouncements,
  type SpooledOptOut,
} from './announce-opt-outs.ts';
import { accountPrincipal } from './recipients.ts';

const COMMAND: CommandOrder = { received_at: 1000, gateway: 'g', sequence: 3 };
const FACTS = { principal: accountPrincipal(7), source: 'page', receivedAt: 900, trace: '' };
const consent = (state: string) =>
  channelChange({
    ...{ kind: 'consent_changed', channel: 'email', user_id: 'sara' },
    consent: { state, text_version: '', ip: '', user_agent: '' },
  });

/** A gateway whose commands end so, and whose announcements do. */
function gateway(of: { fate: 'logged' | 'spooled' | 'refused'; canAnnounce?: boolean }) {
  const announced: SpooledOptOut[] = [];
  const counts = { announced: 0, unannounced: 0 };
  const record = announcingOptOuts({
    commands: {
      write: (_change, _facts, onSpooled) => {
        if (of.fate === 'spooled') onSpooled?.(COMMAND);
        return Promise.resolve(of.fate !== 'refused');
      },
    },
    announce: (optOut) => {
      if (of.canAnnounce === false) return Promise.reject(new Error('down'));
      announced.push(optOut);
      return Promise.resolve();
    },
    ...{ counts, onFailed: () => undefined },
  });
  return { record, announced, counts };
}

describe('an opt-out', () => {
  it('that is in the log is not announced', async () => {
    const { record, announced } = gateway({ fate: 'logged', canAnnounce: false });
    expect(await record(consent('unsubscribed'), FACTS)).toBe(true);
    expect(announced).toEqual([]);
  });

  it('that is in the spool only is announced with its place among the commands', async () => {
    const { record, announced, counts } = gateway({ fate: 'spooled' });
    expect(await record(consent('unsubscribed'), FACTS)).toBe(true);
    expect(announced).toEqual([
      { accountId: 7, userId: 'sara', channel: 'email', command: COMMAND },
    ]);
    expect(counts).toEqual({ announced: 1, unannounced: 0 });
  });

  it('that can be neither logged nor announced is refused', async () => {
    const { record, counts } = gateway({ fate: 'spooled', canAnnounce: false });
    expect(await record(consent('unsubscribed'), FACTS)).toBe(false);
    expect(counts).toEqual({ announced: 0, unannounced: 1 });
  });

  it('that is not durable is refused, and not announced', async () => {
    const { record, announced } = gateway({ fate: 'refused' });
    expect(await record(consent('unsubscribed'), FACTS)).toBe(false);
    expect(announced).toEqual([]);
  });

  it('is announced, and other changes are not', async () => {
    const { record, announced } = gateway({ fate: 'spooled', canAnnounce: false });
    expect(await record(consent('subscribed'), FACTS)).toBe(true);
    const bounce = channelChange({ kind: 'address_suppressed', channel: 'email', user_id: 'u' });
    expect(await record(bounce, FACTS)).toBe(true);
    expect(announced).toEqual([]);
  });
});

describe('an announcement', () => {
  let postgres: MigratedDatabase;
  beforeAll(async () => {
    postgres = await migratedDatabase(['0001', '0060']);
  }, 30_000);
  afterAll(() => postgres.close());
  beforeEach(() => postgres.database.query('DELETE FROM announced_opt_outs'));

  it('is that of the last command, with every character of the name', async () => {
    const announce = connectAnnouncements(postgres.database);
    const of = { accountId: 7, userId: 'a\\b\0', channel: 'email' as const };
    await announce({ ...of, command: COMMAND });
    await announce({ ...of, command: { ...COMMAND, sequence: 4 } });
    await announce({ ...of, command: { received_at: 999, gateway: 'z', sequence: 9 } });
    await announce({ ...of, channel: 'sms', command: COMMAND });
    const { rows } = await postgres.database.query(
      'SELECT user_id, channel, received_at::int, gateway, sequence::int FROM announced_opt_outs ORDER BY channel',
    );
    expect(rows).toEqual([
      { user_id: 'a\\\\b\\0', channel: 'email', received_at: 1000, gateway: 'g', sequence: 4 },
      { user_id: 'a\\\\b\\0', channel: 'sms', received_at: 1000, gateway: 'g', sequence: 3 },
    ]);
  });
});
