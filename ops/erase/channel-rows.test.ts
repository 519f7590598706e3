import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { brokenEntry } from '../../events/channels/consent-chain.ts';
import { channelChange, type ChannelChange } from '../../events/channels/channel-change.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { chainConsents } from '../../projections/addresses/chain-consents.ts';
import { Registers } from '../../projections/addresses/registers.ts';
import { placed } from '../../projections/addresses/testing/placed.ts';
import { writeBatch } from '../../projections/addresses/write-batch.ts';
import { addressesOf, laterAddresses, removeChannels, restoreHolders } from './channel-rows.ts';

const AT = 1000;
const SARA = { accountId: 1, names: ['sara\\', 'anon'], at: AT };

let postgres: MigratedDatabase;
let position = 0;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0050', '0053', '0056', '0060']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  for (const table of [
    ...['channel_addresses', 'channel_ends', 'channel_tokens', 'channel_consents', 'consent_log'],
    ...['channel_suppressions', 'soft_bounces', 'message_recipients', 'announced_opt_outs'],
  ])
    await postgres.database.query(`DELETE FROM ${table}`);
});

type Sent = Partial<ChannelChange> & Pick<ChannelChange, 'kind' | 'channel'> & { at?: number };

/** Commands that were accepted one after the other. */
async function apply(...sent: readonly Sent[]): Promise<void> {
  const commands = sent.map(({ at = 10, ...change }, sequence) => ({
    ...{ ...channelChange(change), account_id: 1, app_id: 0, write_key_id: 0, trace: '' },
    ...{ written_before: 0, refused_before: 0 },
    ...{ source: 'sdk', received_at: at, gateway: 'g', sequence },
  }));
  const registers = new Registers(placed(commands, { partition: 0, from: position }));
  const consents = await chainConsents(postgres.database, registers.consentChanges);
  const from = { epoch: 0, next: position };
  position += sent.length;
  const to = { epoch: 0, next: position };
  await writeBatch(postgres.database, { partition: 0, from, to, registers, consents });
}

async function read(sql: string): Promise<string[]> {
  const { rows } = await postgres.database.query<object>(sql);
  return rows.map((row) => Object.values(row).join(' '));
}

const device = (user_id: string, address_id: string, push_token: string, at?: number): Sent => ({
  ...{ kind: 'device_registered', channel: 'push', user_id, address_id },
  ...(at === undefined ? {} : { at }),
  device: {
    ...{ platform: 'android', push_token, push_provider: 'fcm', app_version: '' },
    ...{ os_version: '', model: '', locale: '', timezone: '' },
  },
});
const suppressed = (user_id: string, address_id: string): Sent => ({
  ...{ kind: 'address_suppressed', channel: 'email', user_id, address_id, reason: '5.1.1' },
});
const consent = (user_id: string, at: number): Sent => ({
  ...{ kind: 'consent_changed', channel: 'email', user_id, at },
  consent: { state: 'unsubscribed', text_version: '', ip: '::1', user_agent: 'a' },
});

async function erase(): Promise<void> {
  const own = await addressesOf(postgres.database, SARA);
  await removeChannels(postgres.database, SARA, own);
  await restoreHolders(postgres.database, SARA.accountId);
}

const STATES = `SELECT address_id, user_id, reason FROM channel_address_states ORDER BY address_id`;

describe('the erasure of what commands of channels left', () => {
  it('removes the registrations of all names and what ended them, and nobody else’s', async () => {
    await apply(device('sara\\', 'd1', 't1'), device('ali', 'd2', 't2'), {
      ...{ kind: 'messenger_linked', channel: 'bale', anonymous_id: 'anon', address_id: 'c' },
    });
    await apply(
      { kind: 'device_unregistered', channel: 'push', address_id: 'd1', at: 20 },
      { kind: 'device_unregistered', channel: 'push', address_id: 'd2', at: 20 },
    );
    await erase();
    expect(await read(STATES)).toEqual(['d2 ali unregistered']);
    expect(await read('SELECT address_id FROM channel_ends')).toEqual(['d2']);
    expect(await read('SELECT address_id FROM channel_tokens')).toEqual(['d2']);
  });

  it('leaves a token that the person had last with the device that had it before', async () => {
    await apply(device('ali', 'd2', 't'), device('sara\\', 'd1', 't', 20));
    expect(await read(STATES)).toContain('d2 ali token_moved');
    await erase();
    expect(await read(STATES)).toEqual(['d2 ali ']);
  });

  it('leaves what was registered after it: a new person', async () => {
    await apply(device('sara\\', 'd1', 't1'), device('sara\\', 'd3', 't3', AT + 1));
    await erase();
    expect(await read('SELECT address_id FROM channel_addresses')).toEqual(['d3']);
    expect(await laterAddresses(postgres.database, SARA)).toEqual([
      { channel: 'push', address: 'd3' },
    ]);
  });

  it('removes suppressions of addresses that only the person has, and keeps others without a name', async () => {
    await apply(suppressed('sara\\', 'sara@example.ir'), suppressed('sara\\', 'info@example.ir'));
    for (const [user, address] of [
      ['sara\\', 'info@example.ir'],
      ['ali', 'info@example.ir'],
    ] as const)
      await postgres.database.query(
        `INSERT INTO message_recipients (account_id, ref, user_id, channel, campaign_id, message_id, address, created_at)
         VALUES (1, decode(substr(md5($1), 1, 24), 'hex'), $2, 'email', 0, 'm', $3, to_timestamp(0))`,
        [user, escapeText(user), address],
      );
    await postgres.database.query(
      `INSERT INTO announced_opt_outs (account_id, user_id, channel, received_at) VALUES (1, $1, 'email', $2), (1, 'ali', 'email', $2), (1, $1, 'sms', $3)`,
      [escapeText('sara\\'), AT, AT + 1],
    );
    await erase();
    expect(await read('SELECT address, user_id FROM channel_suppressions')).toEqual([
      'info@example.ir ',
    ]);
    expect(await read('SELECT user_id FROM message_recipients')).toEqual(['ali']);
    expect(await read('SELECT channel FROM announced_opt_outs ORDER BY user_id')).toEqual([
      ...['email', 'sms'],
    ]);
  });

  it('cuts the chain of consents at its beginning, and what is left can be checked', async () => {
    await apply(consent('sara\\', 10), consent('ali', 10), consent('sara\\', AT + 1));
    await erase();
    const { rows } = await postgres.database.query<{ number: number; hash: Buffer }>(
      `SELECT number, hash FROM consent_log WHERE user_id = $1`,
      [escapeText('sara\\')],
    );
    const entry = {
      ...{ channel: 'email', state: 'unsubscribed', source: 'sdk', textVersion: '' },
      ...{ ip: '::1', userAgent: 'a', receivedAt: AT + 1 },
    };
    const left = rows.map(({ number, hash }) => ({ number, entry, hash: Buffer.from(hash) }));
    expect(left.map(({ number }) => number)).toEqual([1]);
    expect(brokenEntry({ accountId: 1, userId: 'sara\\' }, left)).toBeUndefined();
    await apply(consent('sara\\', AT + 2));
    expect(await read('SELECT user_id, number FROM consent_log ORDER BY user_id, number')).toEqual([
      'ali 0',
      'sara\\\\ 1',
      'sara\\\\ 2',
    ]);
    expect(await read('SELECT user_id FROM channel_consents ORDER BY user_id')).toEqual([
      'ali',
      'sara\\\\',
    ]);
  });
});
