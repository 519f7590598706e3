import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { accountSet } from './accounts.ts';
import type { AdminCommand } from './command.ts';
import { messagesSettings } from './message-settings.ts';

let postgres: MigratedDatabase;
const DEFAULTS = {
  ...{ consent_default: null, frequency_cap: null, quiet_hours: null },
  ...{ approval_required: null, max_messages_per_second: null, max_active_runs: null },
};

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0060']);
  await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a')");
}, 60_000);
beforeEach(async () => {
  await postgres.database.query('DELETE FROM message_settings');
});
afterAll(() => postgres.close());

const run = (command: AdminCommand, words: string[], values: Record<string, unknown> = {}) =>
  command.run(
    { values: { account: '1', ...values }, words },
    { database: postgres.database as never, kafka: {} as never, env: {} },
  );

describe('admin messages settings', () => {
  it('shows the settings of an account, and changes those that are named', async () => {
    expect(await run(messagesSettings, [])).toEqual({ account_id: 1, settings: DEFAULTS });
    const changed = await run(messagesSettings, [
      'quiet_hours=22:00-08:00',
      'consent_default=deny',
    ]);
    const settings = { ...DEFAULTS, quiet_hours: '22:00-08:00', consent_default: 'deny' };
    expect(changed).toEqual({ account_id: 1, settings });
    expect(await run(messagesSettings, ['consent_default='])).toMatchObject({
      settings: { ...settings, consent_default: null },
    });
  });

  it('changes nothing when one word is wrong', async () => {
    const wrong = [
      ['quiet_hours=22:00-08:00', 'frequency_cap=many'],
      ['quiet_hours=22:00-08:00', 'frequency=3/24'],
      ['quiet_hours'],
    ];
    for (const words of wrong)
      await expect(run(messagesSettings, words)).rejects.toThrow(/expected|unknown|write it as/);
    expect(await run(messagesSettings, [])).toEqual({ account_id: 1, settings: DEFAULTS });
    await expect(run(messagesSettings, [], { account: '9' })).rejects.toThrow('no account 9');
  });
});

describe('admin account set', () => {
  it('takes settings of messages beside those of the account', async () => {
    const row = await run(accountSet, ['retention_days=60', 'approval_required=true']);
    expect(row).toMatchObject({
      ...{ account_id: 1, retention_days: 60 },
      messages: { approval_required: 'true' },
    });
    expect(await run(accountSet, ['frequency_cap=3/24'])).toEqual({
      ...{ account_id: 1 },
      messages: { ...DEFAULTS, approval_required: 'true', frequency_cap: '3/24' },
    });
    expect(await run(accountSet, ['retention_days=90'])).not.toHaveProperty('messages');
  });

  it('shows what would change', async () => {
    await run(accountSet, ['frequency_cap=3/24']);
    const words = ['frequency_cap=', 'approval_required=true', 'status=suspended'];
    expect(await run(accountSet, words, { 'dry-run': true })).toEqual({
      ...{ account_id: 1, dry_run: true },
      changes: {
        status: { from: 'active', to: 'suspended' },
        frequency_cap: { from: '3/24', to: null },
        approval_required: { from: null, to: 'true' },
      },
    });
    expect(await run(messagesSettings, [])).toMatchObject({ settings: { frequency_cap: '3/24' } });
  });

  it('says which keys there are', async () => {
    await expect(run(accountSet, [])).rejects.toThrow('approval_required');
    await expect(run(accountSet, ['quiet=1'])).rejects.toThrow('unknown key quiet');
    await expect(run(accountSet, ['quiet_hours=1'])).rejects.toThrow('quiet_hours: expected');
  });
});
