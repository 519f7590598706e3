import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { parseSettingTexts, settingProblem, type SettingName } from './setting-texts.ts';
import { changeSettings, messageSettingsReader, readSettingTexts } from './settings-store.ts';
import { DEFAULT_SETTINGS } from './settings.ts';

describe('the texts of settings', () => {
  test.each([
    [{}, {}],
    [{ consent_default: 'deny' }, { consentDefault: 'deny' }],
    [{ consent_default: '' }, { consentDefault: 'allow' }],
    [
      { frequency_cap: '3/24' },
      { frequencyCaps: { email: { messages: 3, hours: 24 }, rubika: { messages: 3, hours: 24 } } },
    ],
    [
      { frequency_cap: 'sms:1/48,3/24' },
      { frequencyCaps: { sms: { messages: 1, hours: 48 }, email: { messages: 3, hours: 24 } } },
    ],
    [{ quiet_hours: '22:00-08:00' }, { quietHours: { from: 1320, to: 480 } }],
    [{ approval_required: 'true' }, { approvalRequired: true }],
    [{ max_messages_per_second: '50' }, { maxPerSecond: 50 }],
    [{ max_active_runs: '5' }, { maxActiveRuns: 5 }],
  ])('%o mean %o', (texts, settings) => {
    expect(parseSettingTexts(texts)).toMatchObject({ ...DEFAULT_SETTINGS, ...settings });
  });

  test('a cap of one channel leaves the others without', () => {
    expect(parseSettingTexts({ frequency_cap: 'sms:1/48' }).frequencyCaps).toEqual({
      sms: { messages: 1, hours: 48 },
    });
  });

  test.each<[SettingName, string]>([
    ['consent_default', 'yes'],
    ['frequency_cap', '0/24'],
    ['frequency_cap', '3/0'],
    ['frequency_cap', '3/745'],
    ['frequency_cap', '1001/24'],
    ['frequency_cap', '3/24,'],
    ['frequency_cap', 'fax:3/24'],
    ['frequency_cap', '3'],
    ['quiet_hours', '22:00'],
    ['quiet_hours', '24:00-08:00'],
    ['quiet_hours', '22:60-08:00'],
    ['quiet_hours', '08:00-08:00'],
    ['approval_required', 'yes'],
    ['max_messages_per_second', '0'],
    ['max_active_runs', '1001'],
  ])('%s=%s is refused with what is expected', (name, text) => {
    expect(settingProblem(name, text)).toContain(`${name}: expected `);
    expect(() => parseSettingTexts({ [name]: text })).toThrow(`${name}: expected `);
  });
});

describe('the settings of an account', () => {
  let postgres: MigratedDatabase;
  beforeAll(async () => {
    postgres = await migratedDatabase(['0001', '0012', '0060']);
    await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')");
  }, 60_000);
  afterAll(() => postgres.close());
  const author = { accountId: 1, actor: 'operator' };

  it('are the defaults, or what was changed, with an audit line', async () => {
    const { database } = postgres;
    let time = 0;
    const read = messageSettingsReader({ database, now: () => time });
    expect(await Promise.all([read(1), read(2)])).toEqual([DEFAULT_SETTINGS, DEFAULT_SETTINGS]);
    await changeSettings(database, author, { quiet_hours: '22:00-08:00', consent_default: 'deny' });
    await changeSettings(database, author, { consent_default: '' });
    expect(await read(1)).toEqual(DEFAULT_SETTINGS);
    time = 2000;
    expect(await Promise.all([read(1), read(2)])).toEqual([
      { ...DEFAULT_SETTINGS, quietHours: { from: 1320, to: 480 } },
      DEFAULT_SETTINGS,
    ]);
    const { rows } = await database.query(
      'SELECT account_id::int, actor, details FROM audit_lines',
    );
    expect(rows).toEqual([
      {
        ...{ account_id: 1, actor: 'operator' },
        details: { quiet_hours: '22:00-08:00', consent_default: 'deny' },
      },
      { account_id: 1, actor: 'operator', details: { consent_default: '' } },
    ]);
  });

  it('stay as they are when one of several changes cannot be read', async () => {
    const before = await readSettingTexts(postgres.database, 2);
    const changes = { approval_required: 'true', quiet_hours: 'never' };
    await expect(
      changeSettings(postgres.database, { ...author, accountId: 2 }, changes),
    ).rejects.toThrow('quiet_hours: expected');
    expect(await readSettingTexts(postgres.database, 2)).toEqual(before);
  });

  it('that this version cannot read stop what depends on them', async () => {
    await postgres.database.query(
      `INSERT INTO message_settings (account_id, settings) VALUES (2, '{"quiet_hours":"always"}') ON CONFLICT (account_id) DO UPDATE SET settings = excluded.settings`,
    );
    const read = messageSettingsReader({ database: postgres.database, now: () => 0 });
    await expect(read(2)).rejects.toThrow('quiet_hours: expected');
    await postgres.database.query(
      `UPDATE message_settings SET settings = '{"later":"1"}' WHERE account_id = 2`,
    );
    await expect(read(2)).rejects.toThrow('later: this version has no such setting');
  });
});
