import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { campaignMessageId, personKey } from '../../../events/messages/message-id.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { reserveCaps } from '../../../messaging/caps/reserve-caps.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { MessageChunk } from '../../../schemas/records.ts';
import { emptyBits, withBits } from '../chunk/bits.ts';
import { evolve, isOpen, NO_TURN, unopened, type Turn } from '../chunk/chunk-state.ts';
import { ModelStore } from '../testing/model-store.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { encodeOutcomes } from '../worker/outcomes.ts';
import type { ChunkWrite, LeasedChunk, WriteAnswer } from './chunk-row.ts';
import { leaseChunks, releaseLeases } from './lease-chunks.ts';
import { writeChunks } from './write-chunks.ts';

let postgres: MigratedDatabase;
let leases = 0;
const terms = { leaseMs: 60_000 };
const FACTS = { templateId: 3, templateVersion: 2, category: 'marketing' };

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060', '0070', '0071']);
}, 60_000);
afterAll(() => postgres.close());

beforeEach(async () => {
  const tables =
    'message_chunks, campaign_run_counts, message_totals, message_meters, message_outbox, message_caps, campaigns, accounts';
  await postgres.database.query(`TRUNCATE ${tables} CASCADE`);
  await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')");
});

/** Of the runs, ms since the epoch. */
const DEADLINE = 4_000_000_000_000;

async function addRun(run: { id: number; accountId: number; chunks: number; recipients?: number }) {
  const { id, accountId, chunks, recipients = 4 } = run;
  await postgres.database.query(
    `INSERT INTO campaigns (id, account_id, name, channel, definition) VALUES ($1, $2, 'c', 'email', '{}')`,
    [id, accountId],
  );
  await postgres.database.query(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, deadline_at)
     VALUES ($1, $1, $2, 'send', 'sending', now(), '{"name":"d","channel":"email"}', 4, to_timestamp($3))`,
    [id, accountId, DEADLINE / 1000],
  );
  for (let chunk = 0; chunk < chunks; chunk++)
    await addChunk(chunkOf(id, accountId, chunk, recipients));
}

function chunkOf(
  runId: number,
  accountId: number,
  chunk: number,
  recipients: number,
): MessageChunk {
  const people = Array.from({ length: recipients }, (_, at) => `r${runId}c${chunk}p${at}`);
  return {
    ...{ account_id: accountId, campaign_id: runId, run_id: runId, chunk, planned_at: 5 },
    first_key: personKey(people[0] ?? ''),
    recipients: people.map((person) => ({
      ...{ key: personKey(person), person_id: person, user_id: person, is_control: false },
    })),
  };
}

async function addChunk(chunk: MessageChunk): Promise<void> {
  const empty = emptyBits(chunk.recipients.length);
  await postgres.database.query(
    `INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, finished)
     VALUES ($1, $2, $3, $1, 'email', $4, $5, $6, $7, $7)`,
    [
      ...[chunk.run_id, chunk.chunk, chunk.account_id, messageChunkCodec.encode(chunk)],
      ...[chunk.recipients.length, chunk.first_key, empty],
    ],
  );
}

function lease(options: Partial<Parameters<typeof leaseChunks>[1]> = {}): Promise<LeasedChunk[]> {
  return leaseChunks(postgres.database, {
    ...{ owner: `i/p/${leases++}`, leaseMs: 60_000, free: [], perChannel: 10, max: 10 },
    ...options,
  });
}

/** The write of a turn; those whom it finishes are sent. */
function writeOf(
  leased: LeasedChunk,
  turn: Partial<Turn>,
  more: Partial<ChunkWrite> = {},
): ChunkWrite {
  const full = { ...NO_TURN, ...turn };
  const after = evolve(leased.state, full, { mayOpen: true });
  const held = evolve(leased.state, full, { mayOpen: false });
  const sent = full.finishes.map((index) => ({
    ...{ index, status: 'sent' as const, reason: '', attempts: 1, provider: 'smtp' },
    ...{ providerMessageId: 'x', addressHash: 'h' },
  }));
  const chunk = messageChunkCodec.decode(leased.record);
  return {
    ...{ owner: leased.owner, runId: leased.runId, chunk: leased.chunk, fence: leased.fence },
    ...{ opened: after.opened, openedIfHeld: held.opened, openedWith: 'smtp:1' },
    ...{ finished: after.finished, retries: after.retries, isDone: false, releaseUntil: undefined },
    counts: sent.length > 0 ? [{ status: 'sent', reason: '', messages: sent.length }] : [],
    meters: sent.length > 0 ? [{ month: '1405-09', messages: sent.length }] : [],
    capReleases: [],
    outcomes: encodeOutcomes(sent, { chunk, channel: 'email', finishedAt: 9, facts: FACTS }),
    ...more,
  };
}

async function write(...writes: ChunkWrite[]): Promise<WriteAnswer[]> {
  return writeChunks(postgres.database, writes, terms);
}

async function rows<T>(sql: string): Promise<T[]> {
  return (await postgres.database.query(sql)).rows as T[];
}

const WRITTEN = { kind: 'written', mayOpen: true, isCancelled: false, deadlineAt: DEADLINE };

describe('a write', () => {
  it('changes the chunk, the balance, the meters, the caps and the outbox in one statement', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 1 });
    const [leased] = await lease();
    if (!leased) throw new Error('nothing is leased');
    expect(leased).toMatchObject({
      ...{ runId: 7, chunk: 0, accountId: 1, campaignId: 7, channel: 'email', fence: 1 },
      run: {
        definition: { name: 'd', channel: 'email' },
        version: 4,
        isCancelled: false,
        isHeld: false,
        deadlineAt: DEADLINE,
      },
    });
    expect(await write(writeOf(leased, { opens: [0, 1, 2] }))).toEqual([WRITTEN]);
    const messageId = campaignMessageId({ campaignId: 7, runId: 7, key: personKey('x') });
    const capped = ['x', 'y'].map((person) => ({ person, messageId }));
    const cap = { messages: 2, hours: 24 };
    await reserveCaps(postgres.database, { accountId: 1, channel: 'email', cap, now: 5 }, capped);
    const opened = withBits(emptyBits(4), { set: [0, 1, 2] });
    const state = { ...leased.state, opened };
    const retries = [{ index: 2, attempts: 1, at: 12_345 }];
    const turn = { finishes: [0, 1], retries };
    const capReleases = [{ person: 'x', messageId }];
    const second = writeOf({ ...leased, state, fence: 2 }, turn, { capReleases });
    expect(await write(second)).toEqual([WRITTEN]);
    expect(
      await rows('SELECT opened, finished, retries, fence::int, opened_with FROM message_chunks'),
    ).toEqual([
      {
        opened: new Uint8Array([0b011]),
        finished: new Uint8Array([0b011]),
        ...{ retries, fence: 3, opened_with: 'smtp:1' },
      },
    ]);
    expect(
      await rows('SELECT run_id::int, status, reason, messages::int FROM campaign_run_counts'),
    ).toEqual([{ run_id: 7, status: 'sent', reason: '', messages: 2 }]);
    expect(await rows('SELECT account_id::int, status, messages::int FROM message_totals')).toEqual(
      [{ account_id: 1, status: 'sent', messages: 2 }],
    );
    expect(
      await rows('SELECT account_id::int, month, channel, messages::int FROM message_meters'),
    ).toEqual([{ account_id: 1, month: '1405-09', channel: 'email', messages: 2 }]);
    expect(await rows('SELECT person, reserved FROM message_caps ORDER BY person')).toEqual([
      { person: 'x', reserved: {} },
      { person: 'y', reserved: { [messageId]: 5 } },
    ]);
    expect(
      await rows(
        'SELECT account_id::int, leased_by, leased_until <= now() AS is_due FROM message_outbox',
      ),
    ).toEqual([{ account_id: 1, leased_by: null, is_due: true }]);
  });

  it('that is executed again after its answer was lost changes nothing twice', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 1 });
    const [leased] = await lease();
    if (!leased) throw new Error('nothing is leased');
    const sending = writeOf(leased, { opens: [0], finishes: [1] });
    expect(await write(sending)).toEqual([WRITTEN]);
    expect(await write(sending)).toEqual([WRITTEN]);
    expect(await rows('SELECT messages::int FROM campaign_run_counts')).toEqual([{ messages: 1 }]);
    expect(await rows('SELECT count(*)::int AS outbox FROM message_outbox')).toEqual([
      { outbox: 1 },
    ]);
  });

  it('that arrives late, after a later one, changes nothing', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 1 });
    const [leased] = await lease();
    if (!leased) throw new Error('nothing is leased');
    await write(writeOf(leased, { opens: [0] }));
    const open = {
      ...leased,
      fence: 2,
      state: evolve(leased.state, { ...NO_TURN, opens: [0] }, { mayOpen: true }),
    };
    const retried = writeOf(open, { retries: [{ index: 0, attempts: 1, at: 0 }] });
    await write(retried);
    await write(writeOf({ ...leased, fence: 3 }, { opens: [0] }));
    expect(await write(retried)).toEqual([{ kind: 'lost' }]);
    const [row] = await rows<{ opened: Uint8Array }>('SELECT opened FROM message_chunks');
    expect(row?.opened).toEqual(new Uint8Array([1]));
  });

  it.each([
    ['paused', 'UPDATE campaign_runs SET paused = true', false],
    ['cancelled', 'UPDATE campaign_runs SET cancelled = true', true],
    ['of a suspended account', `UPDATE accounts SET status = 'suspended'`, false],
  ])('of a run that is %s records outcomes, and no attempt', async (_, change, isCancelled) => {
    await addRun({ id: 7, accountId: 1, chunks: 1 });
    const [leased] = await lease();
    if (!leased) throw new Error('nothing is leased');
    await postgres.database.query(change);
    const sending = writeOf(leased, { opens: [0], finishes: [1] });
    const held = { ...WRITTEN, mayOpen: false, isCancelled };
    expect(await write(sending)).toEqual([held]);
    expect(await write(sending)).toEqual([held]);
    expect(await rows('SELECT opened, finished FROM message_chunks')).toEqual([
      { opened: new Uint8Array([0]), finished: new Uint8Array([2]) },
    ]);
  });

  it('of a process that lost its lease changes nothing, and the others of its statement do', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 2 });
    const [first, second] = await lease();
    if (!first || !second) throw new Error('nothing is leased');
    await postgres.database.query(
      `UPDATE message_chunks SET leased_until = now() - interval '1 s' WHERE chunk = $1`,
      [first.chunk],
    );
    const [leasedAgain] = await lease();
    expect(leasedAgain).toMatchObject({ chunk: first.chunk, fence: 2 });
    const writes = [first, second].map((one) => writeOf(one, { finishes: [0] }));
    expect(await write(...writes)).toEqual([{ kind: 'lost' }, WRITTEN]);
    expect(await rows('SELECT messages::int FROM campaign_run_counts')).toEqual([{ messages: 1 }]);
    expect(await rows('SELECT count(*)::int AS outbox FROM message_outbox')).toEqual([
      { outbox: 1 },
    ]);
  });

  it('of a chunk that is gone is lost', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 1 });
    const [leased] = await lease();
    if (!leased) throw new Error('nothing is leased');
    await postgres.database.query('DELETE FROM message_chunks');
    expect(await write(writeOf(leased, { finishes: [0] }))).toEqual([{ kind: 'lost' }]);
  });
});

describe('a lease', () => {
  const placesOf = (leased: LeasedChunk[]) =>
    leased.map(({ runId, chunk }) => `${runId}.${chunk}`).sort();

  it('goes to nobody else until it ends, or its process is replaced', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 2 });
    expect(placesOf(await lease())).toEqual(['7.0', '7.1']);
    expect(await lease()).toEqual([]);
    expect(await releaseLeases(postgres.database, 'other/')).toBe(0);
    expect(await releaseLeases(postgres.database, 'i/')).toBe(2);
    expect((await lease()).map(({ fence }) => fence)).toEqual([3, 3]);
  });

  it('takes turns between accounts, and between the runs of one', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 30 });
    await addRun({ id: 8, accountId: 1, chunks: 30 });
    await addRun({ id: 9, accountId: 2, chunks: 2 });
    const leased = await lease({ max: 4 });
    expect(Map.groupBy(leased, ({ runId }) => runId).get(9)).toHaveLength(2);
    expect(new Set(leased.map(({ runId }) => runId))).toEqual(new Set([7, 8, 9]));
  });

  it('passes over channels that cannot send now, and takes no more than one may have', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 5 });
    await addRun({ id: 9, accountId: 2, chunks: 5 });
    const free = [
      { accountId: 1, channel: 'email', chunks: 0, held: 0 },
      { accountId: 2, channel: 'email', chunks: 3, held: 0 },
    ];
    expect(placesOf(await lease({ free }))).toEqual(['9.0', '9.1', '9.2']);
  });

  it('of a channel whose sender cannot send is of a run that is past its deadline', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 2 });
    await addRun({ id: 8, accountId: 1, chunks: 2 });
    await postgres.database.query(
      "UPDATE campaign_runs SET deadline_at = now() - interval '1 second' WHERE id = 7",
    );
    const blocked = { accountId: 1, channel: 'email', chunks: 0, held: 0 };
    expect(placesOf(await lease({ free: [blocked] }))).toEqual(['7.0', '7.1']);
  });

  it('passes over paused runs, suspended accounts and chunks that wait, but not cancelled ones', async () => {
    for (const id of [1, 2, 3, 4]) await addRun({ id, accountId: 1, chunks: 1 });
    await addRun({ id: 5, accountId: 2, chunks: 1 });
    await postgres.database.query(`UPDATE accounts SET status = 'suspended' WHERE id = 2`);
    await postgres.database.query('UPDATE campaign_runs SET paused = true WHERE id IN (1, 2)');
    await postgres.database.query('UPDATE campaign_runs SET cancelled = true WHERE id IN (2, 3)');
    await postgres.database.query(
      `UPDATE message_chunks SET next_at = now() + interval '1 hour' WHERE run_id IN (3, 4)`,
    );
    expect(placesOf(await lease())).toEqual(['2.0', '3.0']);
  });

  it('is given back until the time at which something is due', async () => {
    await addRun({ id: 7, accountId: 1, chunks: 2 });
    const [first, second] = await lease();
    if (!first || !second) throw new Error('nothing is leased');
    const released = [
      writeOf(first, {}, { releaseUntil: Date.now() + 60_000 }),
      writeOf(second, {}, { releaseUntil: Date.now() - 60_000 }),
    ];
    await write(...released);
    expect(await lease()).toMatchObject([{ chunk: second.chunk }]);
  });
});

describe('the statements and the model of the property test', () => {
  it.each([1, 2, 3, 4, 5, 6])('agree about random leases and writes (%i)', async (seed) => {
    const random = seededRandom(seed);
    const pick = <T>(values: readonly T[]): T | undefined =>
      values[Math.floor(random() * values.length)];
    const model = new ModelStore();
    await addRun({ id: 7, accountId: 1, chunks: 2, recipients: 10 });
    const run = { isPaused: false, isCancelled: false, definition: {}, version: 1 };
    for (const chunk of [0, 1])
      model.add(chunkOf(7, 1, chunk, 10), { ...run, frozen: {}, deadlineAt: DEADLINE });
    const held: LeasedChunk[] = [];
    const sentBefore: ChunkWrite[] = [];
    for (let step = 0; step < 80; step++) {
      const draw = random();
      if (draw < 0.2) {
        const leased = await lease({ max: 1 });
        const owner = leased[0]?.owner ?? 'none';
        const expected = model.lease(owner, 1);
        expect(leased.map(({ fence, state }) => ({ fence, state }))).toEqual(
          expected ? [{ fence: expected.fence, state: expected.state }] : [],
        );
        held.push(...leased);
      } else if (draw < 0.25) {
        await postgres.database.query(
          `UPDATE message_chunks SET leased_until = now() - interval '1 s' WHERE leased_until IS NOT NULL`,
        );
        for (const row of model.rows) row.leasedUntil = 0;
      } else if (draw < 0.3) {
        const known = model.runs.get(7);
        if (known) known.isPaused = !known.isPaused;
        await postgres.database.query('UPDATE campaign_runs SET paused = NOT paused');
      } else if (draw < 0.4) {
        const repeated = pick(sentBefore);
        if (repeated) expect(await write(repeated)).toEqual(model.write([repeated], 1));
      } else {
        const leased = pick(held);
        if (!leased) continue;
        const opens = unopened(leased.state).filter(() => random() < 0.2);
        const open = [...Array(10).keys()].filter((index) => isOpen(leased.state, index));
        const finishes = open.filter(() => random() < 0.3);
        const retries = open
          .filter((index) => !finishes.includes(index) && random() < 0.3)
          .map((index) => ({ index, attempts: 1, at: step }));
        const isReleased = random() < 0.1;
        const one = writeOf(
          leased,
          { opens, finishes, retries },
          {
            releaseUntil: isReleased ? -1000 : undefined,
          },
        );
        sentBefore.push(one);
        const [answer] = await write(one);
        expect([answer]).toEqual(model.write([one], 1));
        if (answer?.kind !== 'written' || isReleased) held.splice(held.indexOf(leased), 1);
        else {
          leased.fence++;
          leased.state = evolve(leased.state, { ...NO_TURN, opens, finishes, retries }, answer);
        }
      }
    }
    const stored = await rows<{ opened: Uint8Array; finished: Uint8Array; fence: number }>(
      'SELECT opened, finished, fence::int AS fence FROM message_chunks ORDER BY chunk',
    );
    expect(
      stored.map((row) => ({
        ...row,
        opened: Buffer.from(row.opened),
        finished: Buffer.from(row.finished),
      })),
    ).toEqual(
      model.rows.map(({ state: { opened, finished }, fence }) => ({ opened, finished, fence })),
    );
    const [sent] = await rows<{ messages: number }>(
      'SELECT messages::int FROM campaign_run_counts',
    );
    expect(sent?.messages ?? 0).toBe(model.counts.get('7 sent') ?? 0);
  });
});
