import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { operationStore } from '../../control-plane/operations/operation-store.ts';
import { storeOf } from '../../control-plane/store.ts';
import type { Operation } from '../../platform/operations/operation.ts';
import type { OperationWait } from '../../platform/operations/operation-wait.ts';
import { OperationQueue } from './operation-queue.ts';

let postgres: MigratedDatabase;
let queue: OperationQueue;
const rows = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await postgres.database.query<Row>(text, values)).rows;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0016', '0081']);
  await rows(`INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')`);
  await rows(
    `INSERT INTO members (id, email, password_hash) VALUES (5, 'a@x.example', '$argon2id$v=19$test')`,
  );
  queue = new OperationQueue(postgres.database);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(() => rows('TRUNCATE operations, audit_lines'));

const redrive = (group: string): Operation => ({
  kind: 'dead_letters.redrive',
  input: { group, dry_run: false },
});
const request = (operation: Operation, accountId = 1) =>
  operationStore(storeOf(postgres.database)).request({ accountId, memberId: 5 }, operation);
/** As if the process that has it were killed, and its lease ran out. */
const die = (id: number) =>
  rows(`UPDATE operations SET leased_until = now() - interval '1 s' WHERE id = $1`, [id]);
const states = () => rows('SELECT state, input::text, error FROM operations ORDER BY id');

describe('the queue of operations', () => {
  it('gives an operation to one process, and to another one after that was killed', async () => {
    await request(redrive('aaaa'));
    const first = await queue.claim({ isLong: false });
    expect(first).toMatchObject({ accountId: 1, operation: redrive('aaaa'), epoch: 1 });
    expect(await queue.claim({ isLong: false })).toBeUndefined();
    await die(first?.id ?? 0);
    const second = await queue.claim({ isLong: false });
    expect(second).toMatchObject({ id: first?.id, epoch: 2 });
    if (!first || !second) return;
    expect(await queue.renew(first, {})).toBe('lost');
    await queue.end(first, { state: 'failed', result: undefined, error: 'late' });
    await queue.end(second, { state: 'succeeded', result: { events: 1 }, error: '' });
    expect(await states()).toMatchObject([{ state: 'succeeded', error: '' }]);
  });

  it('gives up an operation over which three processes died', async () => {
    await request(redrive('aaaa'));
    for (let attempt = 1; attempt <= 3; attempt++) {
      const owned = await queue.claim({ isLong: false });
      expect(owned?.epoch).toBe(attempt);
      await die(owned?.id ?? 0);
    }
    expect(await queue.claim({ isLong: false })).toBeUndefined();
    await queue.sweep();
    expect(await states()).toMatchObject([{ state: 'failed' }]);
  });

  it('takes accounts in turns, one operation of each at a time', async () => {
    for (const group of ['aaaa', 'bbbb', 'cccc']) await request(redrive(group));
    await request(redrive('dddd'), 2);
    const claimed = [await queue.claim({ isLong: false }), await queue.claim({ isLong: false })];
    expect(claimed.map((one) => one?.accountId)).toEqual([1, 2]);
    expect(await queue.claim({ isLong: false })).toBeUndefined();
  });

  it('two processes that claim at the same moment do not run two operations of one account', async () => {
    for (const group of ['aaaa', 'bbbb']) await request(redrive(group));
    await request(redrive('cccc'), 2);
    const isOfOther = "p.state = 'running'";
    // What a statement sees that began before the other one was committed.
    const query = (text: string, values?: unknown[]) => {
      expect(text).toContain(isOfOther);
      return postgres.database.query(text.replace(isOfOther, 'false'), values);
    };
    const other = new OperationQueue({ query } as unknown as ConstructorParameters<
      typeof OperationQueue
    >[0]);
    expect(await queue.claim({ isLong: false })).toMatchObject({ accountId: 1 });
    // Otherwise it would be the turn of account 2.
    await rows('UPDATE operations SET taken_at = NULL');
    expect(await other.claim({ isLong: false })).toBeUndefined();
    expect(await queue.claim({ isLong: false })).toMatchObject({ accountId: 2 });
    expect(await rows(`SELECT state FROM operations ORDER BY id`)).toEqual([
      { state: 'running' },
      { state: 'queued' },
      { state: 'running' },
    ]);
  });

  it('leaves nothing of a person once the operation has ended', async () => {
    await request({ kind: 'person.erase', input: { user_id: 'sara', dry_run: false } });
    expect(await queue.claim({ isLong: false })).toBeUndefined();
    const owned = await queue.claim({ isLong: true });
    if (owned) await queue.end(owned, { state: 'succeeded', result: {}, error: '' });
    expect(await states()).toMatchObject([{ state: 'succeeded', input: '{}' }]);
    // Nor a hash, by which a telephone number is found.
    expect(await rows('SELECT subject FROM operations')).toEqual([{ subject: '0'.repeat(64) }]);
    const lines = await rows<{ details: object }>('SELECT details FROM audit_lines');
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain('sara');
  });

  it('stops what runs, and what waits without starting it', async () => {
    const store = operationStore(storeOf(postgres.database));
    const viewer = { accountId: 1, memberId: 5, isOperator: false };
    const [runs = 0, waits = 0] = [await request(redrive('aaaa')), await request(redrive('bbbb'))];
    const owned = await queue.claim({ isLong: false });
    expect(await store.stop(viewer, runs)).toBe(true);
    expect(await store.stop(viewer, waits)).toBe(true);
    expect(owned && (await queue.renew(owned, {}))).toBe('stop');
    await queue.sweep();
    expect(await states()).toMatchObject([{ state: 'running' }, { state: 'stopped' }]);
  });

  it('does not begin what somebody stopped, nor repeat it when its process dies', async () => {
    const store = operationStore(storeOf(postgres.database));
    const viewer = { accountId: 1, memberId: 5, isOperator: false };
    const [runs = 0] = [await request(redrive('aaaa')), await request(redrive('bbbb'), 2)];
    await queue.claim({ isLong: false });
    await rows('UPDATE operations SET stop_requested = true');
    expect(await store.stop({ ...viewer, accountId: 2 }, runs)).toBe(false);
    await die(runs);
    expect(await queue.claim({ isLong: false })).toBeUndefined();
    await queue.sweep();
    expect(await states()).toMatchObject([{ state: 'stopped' }, { state: 'stopped' }]);
  });

  it('carries out an erasure that has begun, whoever wants to stop it', async () => {
    const store = operationStore(storeOf(postgres.database));
    const viewer = { accountId: 1, memberId: 5, isOperator: false };
    const erase = (user_id: string): Operation => ({
      kind: 'person.erase',
      input: { user_id, dry_run: false },
    });
    const [runs = 0, waits = 0] = [await request(erase('sara')), await request(erase('leila'))];
    await queue.claim({ isLong: true });
    expect(await store.stop(viewer, runs)).toBe(false);
    expect(await store.stop(viewer, waits)).toBe(true);
    await rows(`UPDATE operations SET state = 'queued', leased_until = NULL WHERE id = $1`, [runs]);
    expect(await store.stop(viewer, runs)).toBe(false);
  });

  it('takes nothing from the next owner when the one that gave it back is late', async () => {
    await request(redrive('aaaa'));
    const first = await queue.claim({ isLong: false });
    if (!first) throw new Error('none waits');
    await queue.release(first);
    const second = await queue.claim({ isLong: false });
    expect(await queue.renew(first, {})).toBe('lost');
    await queue.release(first);
    expect(second && (await queue.renew(second, {}))).toBe('go_on');
    // It was given back: nobody has died over it.
    expect(await rows('SELECT attempts FROM operations')).toEqual([{ attempts: 1 }]);
  });

  it('says whether an operation is open, and forgets old ones, dry runs first', async () => {
    expect(await queue.sweep()).toBeUndefined();
    await request(redrive('aaaa'));
    expect(await queue.sweep()).toBe(0);
    const owned = await queue.claim({ isLong: false });
    if (owned) await queue.end(owned, { state: 'succeeded', result: {}, error: '' });
    await request({ kind: 'dead_letters.redrive', input: { group: 'bbbb', dry_run: true } });
    const dry = await queue.claim({ isLong: false });
    if (dry) await queue.end(dry, { state: 'succeeded', result: {}, error: '' });
    await rows(`UPDATE operations SET finished_at = now() - interval '2 days'`);
    await queue.forget();
    expect(await rows('SELECT is_dry FROM operations')).toEqual([{ is_dry: false }]);
    await rows(`UPDATE operations SET finished_at = now() - interval '91 days'`);
    await queue.forget();
    expect(await rows('SELECT is_dry FROM operations')).toEqual([]);
  });
});

describe('an operation that waits', () => {
  const SPOOL: OperationWait = {
    ...{ key: 'spool_of_ended', service: 'ingest-gateway', instance: '9d56' },
    ...{ events: 5, seen_at: '2026-11-24T02:00:00.000Z' },
  };
  const erase = (user_id: string, accountId = 1) =>
    request({ kind: 'person.erase', input: { user_id, dry_run: false } }, accountId);
  const long = () => queue.claim({ isLong: true });
  /** Takes the next one, which waits. */
  const waitFor = async (waits: OperationWait[]) => {
    const owned = await long();
    if (!owned) throw new Error('none waits');
    await queue.giveBack(owned, { erasure: 7, waits });
    return owned;
  };
  /** As if two minutes had passed: every interval until the next look is over. */
  const due = () =>
    rows(`UPDATE operations SET requested_at = requested_at - interval '2 minutes',
      taken_at = taken_at - interval '2 minutes', look_at = look_at - interval '2 minutes'`);

  it('says for what, and lets others go on', async () => {
    const store = operationStore(storeOf(postgres.database));
    await erase('sara');
    await erase('leila', 2);
    await request({ kind: 'projection.rebuild', input: { projection: 'events', step: 'compare' } });
    await waitFor([SPOOL]);
    await waitFor([SPOOL]);
    expect(await long()).toMatchObject({ operation: { kind: 'projection.rebuild' } });
    const [shown] = await store.list({ accountId: 1, isOperator: false }, 10);
    expect(shown).toMatchObject({ state: 'queued', waits: [SPOOL], input: {} });
    expect(shown?.waits_since).toEqual(expect.any(String));
  });

  it('is looked at again, continues its erasure, and waits for nothing once it has ended', async () => {
    await erase('sara');
    await waitFor([SPOOL]);
    expect(await long()).toBeUndefined();
    const rest = await queue.sweep();
    expect(rest).toBeGreaterThan(0);
    expect(rest).toBeLessThanOrEqual(60_000);
    await due();
    expect(await queue.sweep()).toBe(0);
    const again = await long();
    expect(again).toMatchObject({ erasure: 7, hasWaited: true, epoch: 2 });
    if (again) await queue.renew(again, { waits: [] });
    expect(await rows('SELECT waits, waits_since FROM operations')).toEqual([
      { waits: [], waits_since: null },
    ]);
    if (again) await queue.renew(again, { waits: [SPOOL] });
    if (again) await queue.end(again, { state: 'succeeded', result: {}, error: '' });
    expect(await rows('SELECT waits, waits_since, look_at FROM operations')).toEqual([
      { ...{ waits: [], waits_since: null, look_at: null } },
    ]);
  });

  it('is looked at at least once a minute, however long it waits', async () => {
    await erase('sara');
    await waitFor([SPOOL]);
    await due();
    await rows(`UPDATE operations SET waits_since = now() - interval '30 days'`);
    await waitFor([SPOOL]);
    const rest = (await queue.sweep()) ?? 0;
    expect(rest).toBeGreaterThan(30_000);
    expect(rest).toBeLessThanOrEqual(60_000);
  });

  it('takes its turn behind what has not begun, in its own account and in others', async () => {
    await erase('sara');
    await waitFor([SPOOL]);
    await erase('leila');
    await erase('mina', 2);
    await due();
    // Account 2 has had no turn, and then account 1 what it asked for later.
    expect(await long()).toMatchObject({ accountId: 2 });
    const next = await long();
    expect(next).toMatchObject({ accountId: 1, hasWaited: false });
    if (next) await queue.end(next, { state: 'succeeded', result: {}, error: '' });
    expect(await long()).toMatchObject({ accountId: 1, hasWaited: true });
  });

  it('lets the other accounts have their turns between its looks', async () => {
    for (const user of ['sara', 'leila', 'mina']) await erase(user);
    for (let at = 0; at < 3; at++) await waitFor([SPOOL]);
    await erase('b', 2);
    await due();
    expect(await waitFor([SPOOL])).toMatchObject({ accountId: 2 });
    await due();
    await erase('c', 2);
    expect(await waitFor([SPOOL])).toMatchObject({ accountId: 1 });
    await due();
    expect(await waitFor([SPOOL])).toMatchObject({ accountId: 2 });
  });

  it('survives any number of deaths between which it was looked at', async () => {
    await erase('sara');
    await waitFor([SPOOL]);
    for (let at = 0; at < 5; at++) {
      await due();
      const owned = await long();
      await die(owned?.id ?? 0);
      await queue.sweep();
      await waitFor([SPOOL]);
    }
    expect(await rows('SELECT state, erasure_id FROM operations')).toEqual([
      { state: 'queued', erasure_id: 7 },
    ]);
    // In a row they end it, as those of any other.
    await due();
    for (let at = 0; at < 3; at++) await die((await long())?.id ?? 0);
    await queue.sweep();
    expect(await rows('SELECT state, waits FROM operations')).toEqual([
      { state: 'failed', waits: [] },
    ]);
  });

  it('is left alone by the process that had it before', async () => {
    await erase('sara');
    const first = await long();
    if (!first) throw new Error('none waits');
    await die(first.id);
    const second = await long();
    await queue.giveBack(first, { waits: [SPOOL] });
    expect(second && (await queue.renew(second, {}))).toBe('go_on');
  });
});

describe('requests of operations', () => {
  it('are one operation when they are the same, with one audit line', async () => {
    const id = await request(redrive('aaaa'));
    expect(await request(redrive('aaaa'))).toBe(id);
    expect(await request(redrive('aaaa'), 2)).not.toBe(id);
    expect(await rows('SELECT actor, action, details FROM audit_lines ORDER BY id')).toMatchObject([
      {
        ...{ actor: 'member:5', action: 'operation.requested' },
        details: { operation_id: id, kind: 'dead_letters.redrive', group: 'aaaa', dry_run: false },
      },
      { action: 'operation.requested' },
    ]);
  });

  it('are bounded for each account', async () => {
    const made = await Promise.all(
      Array.from({ length: 25 }, (_, at) => request(redrive(`aa${String(at).padStart(2, '0')}`))),
    );
    expect(made.filter((id) => id !== undefined)).toHaveLength(20);
  });

  it('are seen by their account, those of the installation by operators', async () => {
    const store = operationStore(storeOf(postgres.database));
    await request(redrive('aaaa'));
    await request({ kind: 'projection.rebuild', input: { projection: 'events', step: 'compare' } });
    const kinds = async (accountId: number, isOperator: boolean) =>
      (await store.list({ accountId, isOperator }, 10)).map(({ kind }) => kind);
    expect(await kinds(1, false)).toEqual(['dead_letters.redrive']);
    expect(await kinds(2, false)).toEqual([]);
    expect(await kinds(2, true)).toEqual(['projection.rebuild']);
  });

  it('name no person to those who see operations', async () => {
    const store = operationStore(storeOf(postgres.database));
    const id = await request({
      kind: 'person.split',
      input: { name: 'b1', from: 'sara', dry_run: false },
    });
    const viewer = { accountId: 1, isOperator: true };
    expect(await store.find(viewer, id ?? 0)).toMatchObject({ kind: 'person.split', input: {} });
    expect(JSON.stringify(await store.list(viewer, 10))).not.toContain('sara');
  });
});
