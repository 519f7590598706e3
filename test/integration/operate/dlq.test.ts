import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { acceptanceHash, gatewaySeed } from '../../../events/claims/acceptance.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { post } from '../../support/client.ts';
import {
  clickhouse,
  createAccount,
  eventually,
  FULL,
  ravand,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { rawOf, watchTopic } from '../gateway/raw-log.ts';
import { withFaultyNormaliser, withRefusedEvent } from './faults.ts';

const FAULTY_LIBRARY = 'breaks-the-last-release';

interface Group {
  group: string;
  stage: string;
  reason: string;
  events: number;
  states: Record<'dead' | 'redriving' | 'redriven' | 'discarded', number>;
}

interface Report {
  letters: number;
  events: number;
  recovered: number;
  replayed: number;
  unready: number;
  uncertain: number;
}

async function groups(): Promise<Group[]> {
  return (JSON.parse(await ravand('dlq', 'list', '--json')) as { groups: Group[] }).groups;
}

async function redrive(group: string, ...more: string[]): Promise<Report> {
  return JSON.parse(await ravand('dlq', 'redrive', group, '--json', ...more)) as Report;
}

async function booksOf(accountId: number): Promise<Record<string, number>> {
  return (
    JSON.parse(await ravand('status', '--json', '--account', String(accountId))) as {
      books: Record<string, number>;
    }
  ).books;
}

async function balanced(
  account: TestAccount,
  stored: number,
  dead: number,
): Promise<Record<string, number>> {
  return eventually(
    { ms: 60_000, every: 1000, waitingFor: `the books to show ${stored} stored and ${dead} dead` },
    async () => {
      const books = await booksOf(account.accountId);
      return books['stored'] === stored && books['dead'] === dead && books['in_flight'] === 0
        ? books
        : undefined;
    },
  );
}

/**
 * Events that the faulty release buries, three in one batch and one alone, and one among them that
 * it stores.
 */
async function sendEventsToDeadLetter(
  account: TestAccount,
): Promise<{ bad: string[]; good: string }> {
  const bad = Array.from({ length: 4 }, () => randomUUID());
  const good = randomUUID();
  const context = { library: { name: FAULTY_LIBRARY, version: '1' } };
  const event = (message_id: string | undefined) => ({
    type: 'track',
    event: 'order_completed',
    user_id: 'u',
    message_id,
    properties: { order_id: message_id, revenue: 5 },
  });
  await withFaultyNormaliser(async () => {
    const { ingest_url: url } = readyStack();
    const answers = [
      await post(`${url}/v1/batch`, account.writeKey, {
        batch: [
          { ...event(bad[0]), context },
          event(good),
          ...bad.slice(1, 3).map((id) => ({ ...event(id), context })),
        ],
      }),
      await post(`${url}/v1/track`, account.writeKey, { ...event(bad[3]), context }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await balanced(account, 1, 4);
  });
  return { bad, good };
}

async function storedIds(account: TestAccount): Promise<string[]> {
  const client = clickhouse(readyStack());
  try {
    return (
      await rows<{ id: string }>(
        client,
        'SELECT message_id AS id FROM events WHERE account_id = {a:UInt64} ORDER BY id',
        { a: account.accountId },
      )
    ).map(({ id }) => id);
  } finally {
    await client.close();
  }
}

async function groupOf(account: TestAccount, bad: readonly string[]): Promise<string> {
  expect(account.accountId).toBeGreaterThan(0);
  const found = (await groups()).find(
    ({ reason, states }) => reason === 'not_normalisable' && states.dead + states.redriving > 0,
  );
  expect(found, `a group for ${bad.length} dead events`).toBeDefined();
  return found?.group ?? '';
}

describe('dead letters of the normaliser', () => {
  it('are grouped by cause; after the fix a redrive stores each event once, and the books balance', async () => {
    const account = await createAccount('dlq redrive');
    const { bad, good } = await sendEventsToDeadLetter(account);
    const group = await groupOf(account, bad);
    expect(await ravand('dlq', 'show', group)).toContain("reading 'family'");
    expect(await redrive(group, '--dry-run')).toMatchObject({ letters: 2, events: 4 });
    expect(await storedIds(account)).toEqual([good]);
    expect(await redrive(group)).toMatchObject({ letters: 2, events: 4, unready: 0, uncertain: 0 });
    const books = await balanced(account, 5, 0);
    expect(books).toMatchObject({ received: 5, published: 5, duplicate: 0 });
    expect(await redrive(group)).toMatchObject({ letters: 0, events: 0 });
    expect(await storedIds(account)).toEqual([good, ...bad].sort());
    const people = await profileOf(account);
    expect(people).toEqual({ orders: 5 });
  });

  it.each(FULL ? ['before', 'after'] : ['after'])(
    'are published and counted once when kill -9 ends the redrive %s the publish',
    async (moment) => {
      const account = await createAccount(`dlq killed ${moment}`);
      const { bad, good } = await sendEventsToDeadLetter(account);
      const group = await groupOf(account, bad);
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'killed-redrive.ts'), group, moment],
        {
          stdio: ['ignore', 'inherit', 'inherit'],
        },
      );
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      expect(signal).toBe('SIGKILL');
      expect((await groups()).find((one) => one.group === group)?.states.redriving).toBe(2);
      expect(await redrive(group)).toMatchObject(
        moment === 'after' ? { letters: 0, recovered: 2 } : { letters: 2, recovered: 0 },
      );
      expect(await balanced(account, 5, 0)).toMatchObject({
        received: 5,
        published: 5,
        duplicate: 0,
      });
      expect(await storedIds(account)).toEqual([good, ...bad].sort());
    },
  );

  it('that are published twice are stored once: the claim moves with the first record', async () => {
    const account = await createAccount('dlq twice');
    const { bad, good } = await sendEventsToDeadLetter(account);
    const group = await groupOf(account, bad);
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'killed-redrive.ts'), group, 'twice'],
      {
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(await balanced(account, 5, 0)).toMatchObject({
      received: 5,
      published: 5,
      duplicate: 0,
    });
    expect(await storedIds(account)).toEqual([good, ...bad].sort());
  });

  it.runIf(FULL)(
    'of which a replay of an earlier release has stored some events are redriven without these',
    async () => {
      const account = await createAccount('dlq replayed');
      const raw = await watchTopic(TOPIC.raw);
      const { bad, good } = await sendEventsToDeadLetter(account);
      const group = await groupOf(account, bad);
      const [first] = rawOf(await raw(), account.accountId);
      if (!first) throw new Error('the batch is not in the log');
      const acceptance = acceptanceHash(gatewaySeed(first.record.gateway), first.record.sequence);
      await storeAsEarlierReplay(account, { like: good, id: bad[0] ?? '', acceptance });
      expect(await redrive(group)).toMatchObject({ events: 3 });
      await eventually({ ms: 30_000, waitingFor: 'the rows' }, async () =>
        (await storedIds(account)).length === 5 ? true : undefined,
      );
      expect(await storedIds(account)).toEqual([good, ...bad].sort());
      expect(await redrive(group)).toMatchObject({ letters: 0 });
      expect(await balanced(account, 5, 0)).toMatchObject({ received: 5, published: 5 });
      // That release left the profile without the event; a rebuild gives it back.
      await ravand('rebuild', 'profiles', '--swap');
      expect(await profileOf(account)).toEqual({ orders: 5 });
    },
  );

  it('are discarded with a reason that the audit log contains, and stay dead in the books until they are restored', async () => {
    const account = await createAccount('dlq discard');
    const { bad, good } = await sendEventsToDeadLetter(account);
    const group = await groupOf(account, bad);
    const dlq = async (...args: string[]) =>
      JSON.parse(await ravand('dlq', ...args, '--json')) as unknown;
    expect(await dlq('discard', group, '--dry-run')).toMatchObject({
      ...{ letters: 2, events: 4, dry_run: true },
    });
    await expect(ravand('dlq', 'discard', group)).rejects.toThrow('needs --reason');
    expect(
      JSON.parse(await ravand('dlq', 'discard', group, '--reason', 'test traffic', '--json')),
    ).toMatchObject({ letters: 2, events: 4 });
    expect(await auditedDiscard(group)).toMatchObject({ group, note: 'test traffic' });
    expect(await redrive(group)).toMatchObject({ letters: 0 });
    expect(await balanced(account, 1, 4)).toMatchObject({ published: 5 });
    expect(await dlq('restore', group, '--dry-run')).toMatchObject({ letters: 2, dry_run: true });
    expect(await redrive(group)).toMatchObject({ letters: 0 });
    expect(await dlq('restore', group)).toMatchObject({ letters: 2, note: 'test traffic' });
    expect(await redrive(group)).toMatchObject({ letters: 2, events: 4 });
    expect(await balanced(account, 5, 0)).toMatchObject({ published: 5 });
    expect(await storedIds(account)).toEqual([good, ...bad].sort());
  });
});

describe('dead letters of the sink', () => {
  it('are stored at their original positions once ClickHouse accepts them, and the profile counts the event once', async () => {
    const account = await createAccount('dlq of the sink');
    const event = `refused_${randomUUID().replaceAll('-', '')}`;
    const id = randomUUID();
    const { ingest_url: url } = readyStack();
    await withRefusedEvent(event, async () => {
      await post(`${url}/v1/track`, account.writeKey, { event, user_id: 'u', message_id: id });
      await post(`${url}/v1/track`, account.writeKey, {
        event: 'order_completed',
        user_id: 'u',
        properties: { order_id: '1', revenue: 5 },
      });
      await balanced(account, 1, 1);
      const group = (await groups()).find(
        ({ stage, states }) => stage === 'project' && states.dead > 0,
      );
      expect(group).toMatchObject({ reason: 'VIOLATED_CONSTRAINT', states: { dead: 1 } });
      expect(await redrive(group?.group ?? '')).toMatchObject({ letters: 0, unready: 1 });
    });
    const group = (await groups()).find(
      ({ stage, states }) => stage === 'project' && states.dead > 0,
    );
    expect(await redrive(group?.group ?? '')).toMatchObject({ letters: 1, events: 1 });
    expect(await balanced(account, 2, 0)).toMatchObject({ received: 2, published: 2 });
    expect(await storedIds(account)).toContain(id);
    expect(await redrive(group?.group ?? '')).toMatchObject({ letters: 0 });
    expect(await profileOf(account)).toEqual({ orders: 1 });
  });

  it('are left to a redrive by a replay, which adds nothing of them and leaves the books as they are', async () => {
    const account = await createAccount('dlq of the sink, replayed');
    const event = `refused_${randomUUID().replaceAll('-', '')}`;
    const id = randomUUID();
    let group: string | undefined;
    await withRefusedEvent(event, async () => {
      await post(`${readyStack().ingest_url}/v1/track`, account.writeKey, {
        event,
        user_id: 'u',
        message_id: id,
      });
      await balanced(account, 0, 1);
      group = (await groups()).find(
        ({ stage, states }) => stage === 'project' && states.dead > 0,
      )?.group;
      expect(group).toBeDefined();
    });
    const replay = async () =>
      JSON.parse(
        await ravand(
          ...['replay', '--topic', 'events.raw', '--account', String(account.accountId), '--json'],
        ),
      ) as { counts: Record<string, number> };
    expect((await replay()).counts).toMatchObject({ new: 0, dead: 1 });
    expect(await storedIds(account)).toEqual([]);
    expect(await booksOf(account.accountId)).toMatchObject({ stored: 0, dead: 1 });
    expect(await redrive(group ?? '')).toMatchObject({ letters: 1, events: 1 });
    expect(await balanced(account, 1, 0)).toMatchObject({ received: 1, published: 1 });
    expect((await replay()).counts).toMatchObject({ new: 0, dead: 0, stored: 1 });
    expect(await storedIds(account)).toEqual([id]);
  });
});

/** The row of the first item of the record at its original position, and its entry in the books. */
async function storeAsEarlierReplay(
  account: TestAccount,
  of: { like: string; id: string; acceptance: number },
): Promise<void> {
  const client = clickhouse(readyStack());
  const pool = new pg.Pool({ connectionString: readyStack().database_url, max: 1 });
  const values = { a: account.accountId, ...of, library: FAULTY_LIBRARY };
  try {
    await client.command({
      query: `INSERT INTO events SELECT * REPLACE ({id:String} AS message_id, 0 AS _index, {acceptance:UInt32} AS _acceptance, {library:String} AS library_name, '1' AS library_version, mapUpdate(properties, map('order_id', {id:String})) AS properties) FROM (SELECT * FROM events WHERE account_id = {a:UInt64} AND message_id = {like:String})`,
      query_params: values,
    });
    const [row] = await rows<{ minute: number }>(
      client,
      'SELECT toUnixTimestamp(toStartOfMinute(received_at)) AS minute FROM events WHERE account_id = {a:UInt64} AND message_id = {id:String}',
      values,
    );
    await pool.query(
      'UPDATE books SET dead = dead - 1, open = true, changed_at = now() WHERE account_id = $1 AND minute = to_timestamp($2)',
      [account.accountId, row?.minute],
    );
  } finally {
    await Promise.all([client.close(), pool.end()]);
  }
}

async function profileOf(account: TestAccount): Promise<{ orders: number } | undefined> {
  const client = clickhouse(readyStack());
  try {
    const sql =
      "SELECT toUInt32(order_count) AS orders FROM profiles FINAL WHERE account_id = {a:UInt64} AND name = 'u'";
    return await eventually(
      { ms: 30_000, waitingFor: 'the profile' },
      async () => (await rows<{ orders: number }>(client, sql, { a: account.accountId }))[0],
    );
  } finally {
    await client.close();
  }
}

async function auditedDiscard(group: string): Promise<Record<string, unknown> | undefined> {
  const pool = new pg.Pool({ connectionString: readyStack().database_url, max: 1 });
  try {
    const sql = `SELECT details FROM audit_lines WHERE action = 'dead_letters.discarded' AND actor = 'operator' AND details->>'group' = $1 ORDER BY id DESC LIMIT 1`;
    return (await pool.query<{ details: Record<string, unknown> }>(sql, [group])).rows[0]?.details;
  } finally {
    await pool.end();
  }
}
