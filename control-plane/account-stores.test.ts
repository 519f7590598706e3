import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../platform/postgres/testing/migrated-database.ts';
import { auditStore } from './audit/audit-store.ts';
import { keyStore } from './keys/key-store.ts';
import { makeKey, WRITE_KEY_PREFIX } from './keys/make-key.ts';
import { membershipStore } from './members/membership-store.ts';
import { deadLetterCauses } from './on-call/dead-letter-causes.ts';
import { savedReportStore } from './saved-reports/saved-report-store.ts';
import { storeOf, type Store } from './store.ts';
import { usageStore } from './usage/usage-store.ts';

const MIGRATIONS = [
  '0001',
  '0003',
  '0012',
  '0014',
  '0016',
  '0019',
  '0037',
  '0046',
  '0080',
  '0081',
  '0082',
];

let postgres: MigratedDatabase;
let store: Store;
let accountId: number;
let otherId: number;
let ownerId: number;
const password = { passwordHash: '$argon2id$v=19$test' };

beforeAll(async () => {
  postgres = await migratedDatabase(MIGRATIONS);
  store = storeOf(postgres.database);
}, 60_000);
afterAll(() => postgres.close());

async function makeAccount(name: string): Promise<number> {
  const { rows } = await postgres.database.query<{ id: string }>(
    'INSERT INTO accounts (name) VALUES ($1) RETURNING id',
    [name],
  );
  return Number(rows[0]?.id);
}

beforeEach(async () => {
  accountId = await makeAccount('shop');
  otherId = await makeAccount('other');
  const owner = { email: `owner-${accountId}@x.example`, role: 'owner' as const, ...password };
  const added = await membershipStore(store).add({ accountId, actor: 'operator' }, owner);
  ownerId = added?.memberId ?? 0;
});

const author = () => ({ accountId, memberId: ownerId });

/** Actions of the account's audit lines, newest first. */
async function actions(): Promise<string[]> {
  const all = { before: undefined, memberId: undefined, action: '', limit: 100 };
  const lines = await auditStore(store).list(accountId, all);
  return lines.map(({ action }) => action);
}

describe('keys', () => {
  it('are listed without the key, and a revocation is final', async () => {
    const keys = keyStore(store);
    const { key, hash } = makeKey(WRITE_KEY_PREFIX);
    const id = await keys.createWrite(author(), { app: 'web', environment: 'test', hash });
    const listed = await keys.list(accountId);
    expect(listed.write).toMatchObject([{ id, app: 'web', environment: 'test', revoked_at: null }]);
    expect(JSON.stringify(listed)).not.toContain(key);
    expect(await keys.revoke(author(), { kind: 'write', id: id ?? 0 })).toBe(true);
    const [revoked] = (await keys.list(accountId)).write;
    await keys.revoke(author(), { kind: 'write', id: id ?? 0 });
    expect((await keys.list(accountId)).write[0]).toEqual(revoked);
    expect(revoked?.revoked_at).not.toBeNull();
    expect(await actions()).toContain('write_key.revoked');
  });

  it('of another account are neither listed nor revoked', async () => {
    const keys = keyStore(store);
    const { hash } = makeKey(WRITE_KEY_PREFIX);
    const id = await keys.createWrite(author(), { app: 'web', environment: 'test', hash });
    const other = { accountId: otherId, memberId: ownerId };
    expect((await keys.list(otherId)).write).toEqual([]);
    expect(await keys.revoke(other, { kind: 'write', id: id ?? 0 })).toBe(false);
    expect((await keys.list(accountId)).write[0]?.revoked_at).toBeNull();
  });
});

describe('members', () => {
  const by = () => ({ accountId, actor: `member:${ownerId}` });

  it('who are known elsewhere keep their password', async () => {
    const members = membershipStore(store);
    const person = { email: `a-${accountId}@x.example`, role: 'viewer' as const, ...password };
    const first = await members.add(by(), person);
    const second = await members.add({ accountId: otherId, actor: 'operator' }, person);
    expect([first?.existed, second?.existed]).toEqual([false, true]);
    expect(second?.memberId).toBe(first?.memberId);
    expect(await members.add(by(), person)).toBeUndefined();
  });

  it('always have one owner among them', async () => {
    const members = membershipStore(store);
    expect(await members.setRole(by(), { memberId: ownerId, role: 'viewer' })).toBe('last_owner');
    expect(await members.remove(by(), ownerId)).toBe('last_owner');
    const second = { email: `b-${accountId}@x.example`, role: 'owner' as const, ...password };
    await members.add(by(), second);
    expect(await members.setRole(by(), { memberId: ownerId, role: 'viewer' })).toBe('changed');
  });

  it('are signed out by another role, and removed with their last account', async () => {
    const members = membershipStore(store);
    const person = { email: `c-${accountId}@x.example`, role: 'viewer' as const, ...password };
    const memberId = (await members.add(by(), person))?.memberId ?? 0;
    const generation = async () =>
      (
        await postgres.database.query<{ session_generation: number }>(
          'SELECT session_generation FROM members WHERE id = $1',
          [memberId],
        )
      ).rows[0]?.session_generation;
    const before = (await generation()) ?? 0;
    await members.setRole(by(), { memberId, role: 'analyst' });
    expect(await generation()).toBe(before + 1);
    expect(await members.remove(by(), memberId)).toBe('removed');
    expect(await members.removeStranger(memberId)).toBe(true);
    expect(await generation()).toBeUndefined();
    expect(await actions()).toEqual(
      expect.arrayContaining(['member.created', 'member.role_changed', 'member.removed']),
    );
  });
});

describe('saved reports', () => {
  const draft = { name: 'x', kind: 'funnel' as const, definition: '{"steps":[]}' };

  it('are listed most recently changed first, with who saved them', async () => {
    const reports = savedReportStore(store);
    const first = await reports.create(author(), draft);
    await reports.create(author(), { ...draft, name: 'y' });
    // The clock of PGlite has milliseconds: the change that follows may be in the same one.
    await store.query(`UPDATE saved_reports SET updated_at = updated_at - interval '1 s'`, []);
    await reports.replace({ ...author(), isAdmin: false }, { ...draft, id: first ?? 0, name: 'z' });
    const listed = await reports.list(accountId);
    expect(listed.map(({ name }) => name)).toEqual(['z', 'y']);
    expect(listed[0]).toMatchObject({
      ...{ kind: 'funnel', definition: { steps: [] } },
      created_by: `owner-${accountId}@x.example`,
    });
  });

  it('of another account are neither changed nor removed', async () => {
    const reports = savedReportStore(store);
    const id = (await reports.create(author(), draft)) ?? 0;
    const other = { accountId: otherId, memberId: ownerId, isAdmin: true };
    expect(await reports.replace(other, { ...draft, id })).toBe(false);
    expect(await reports.remove(other, id)).toBe(false);
    expect(await reports.list(otherId)).toEqual([]);
    expect(await reports.remove({ ...author(), isAdmin: false }, id)).toBe(true);
  });

  it('of another member are changed only by whoever may write settings', async () => {
    const reports = savedReportStore(store);
    const id = (await reports.create(author(), draft)) ?? 0;
    const other = { accountId, memberId: ownerId + 1_000_000, isAdmin: false };
    expect(await reports.replace(other, { ...draft, id })).toBe(false);
    expect(await reports.remove(other, id)).toBe(false);
    expect(await reports.remove({ ...other, isAdmin: true }, id)).toBe(true);
  });
});

it('audit lines are pages of one account, filtered by the beginning of the action', async () => {
  const audit = auditStore(store);
  await keyStore(store).createWrite(author(), {
    ...{ app: 'web', environment: 'test', hash: makeKey(WRITE_KEY_PREFIX).hash },
  });
  const keys = { before: undefined, memberId: undefined, action: 'write_key.', limit: 10 };
  expect(await audit.list(accountId, keys)).toMatchObject([
    { action: 'write_key.created', email: `owner-${accountId}@x.example` },
  ]);
  const [newest] = await audit.list(accountId, { ...keys, action: '', limit: 1 });
  const older = await audit.list(accountId, { ...keys, action: '', before: newest?.id });
  expect(older.every(({ id }) => id < (newest?.id ?? 0))).toBe(true);
  expect(await audit.list(otherId, keys)).toEqual([]);
});

it('usage is of the account: its months, newest first, and its allowances', async () => {
  await postgres.database.query(
    `INSERT INTO meters (account_id, month, meter, value, updated_at) VALUES ($1, '1405-08', 'events', 5, now()), ($1, '1405-09', 'events', 7, now()), ($1, '1405-09', 'profiles', 2, '2026-11-23T10:00:00Z')`,
    [accountId],
  );
  const { months, included } = await usageStore(store).read(accountId);
  expect(months).toEqual([
    { month: '1405-09', events: 7, profiles: 2, profiles_counted_at: '2026-11-23T10:00:00.000Z' },
    { month: '1405-08', events: 5, profiles: 0, profiles_counted_at: null },
  ]);
  expect(included).toMatchObject({ events: expect.any(Number) as number });
});

it('dead letters are summed by cause, those that wait first, of one account', async () => {
  const insert = (key: string, group: string, state: string, account: number) =>
    postgres.database.query(
      `INSERT INTO dead_letters (letter, dead_partition, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, events, account_id, message_id, failed_at, state)
       VALUES ($1, 0, 0, 'normaliser', $2, $2, 'events.raw', 0, 0, 2, $4, '', now(), $3)`,
      [key, group, state, account],
    );
  await insert(`1-${accountId}`, 'a', 'redriven', accountId);
  await insert(`2-${accountId}`, 'b', 'dead', accountId);
  await insert(`3-${accountId}`, 'b', 'discarded', accountId);
  await insert(`4-${accountId}`, 'b', 'dead', otherId);
  expect(await deadLetterCauses(store).list(accountId)).toMatchObject([
    { group: 'b', events: 2, waiting: 1, redriven: 0, discarded: 1 },
    { group: 'a', events: 0, waiting: 0, redriven: 1, discarded: 0 },
  ]);
});
