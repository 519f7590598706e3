import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openEventId } from '../../events/channels/open-event.ts';
import type { OpenedBy } from '../../events/channels/opened-by.ts';
import type { EventsToWrite } from '../../ingest/event-writer.ts';
import { createLog } from '../../platform/log.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { connectOpenStore } from './open-store.ts';
import { recordOpens } from './record-opens.ts';

const REFS = [1, 2, 3].map((byte) => Buffer.alloc(12, byte));
const [FIRST, SECOND, ANONYMOUS] = REFS as [Buffer, Buffer, Buffer];

let postgres: MigratedDatabase;
let written: EventsToWrite[];
/** Events that are durable; the others are refused. */
let durable: number;
let isDown: boolean;

beforeAll(async () => {
  postgres = await migratedDatabase(['0053']);
}, 60_000);
afterAll(() => postgres.close());

beforeEach(async () => {
  written = [];
  durable = Infinity;
  isDown = false;
  await postgres.database.query('DELETE FROM message_recipients');
  await postgres.database.query(
    `INSERT INTO message_recipients (account_id, ref, user_id, channel, campaign_id, message_id, address)
     SELECT 7, ref, CASE number WHEN 3 THEN '' ELSE 'u\\\\' || number END, 'email', 5, 'c5.1.' || number, 'sara@example.ir'
     FROM unnest($1::bytea[]) WITH ORDINALITY AS r (ref, number)`,
    [REFS],
  );
});

function opened() {
  const store = connectOpenStore(postgres.database);
  const opens = recordOpens({
    store: {
      find: (wanted) => (isDown ? Promise.reject(new Error('down')) : store.find(wanted)),
      mark: (times) => store.mark(times),
    },
    writer: {
      write: (events) => {
        if (durable-- <= 0) return Promise.resolve(undefined);
        written.push(events);
        return Promise.resolve(0);
      },
    },
    log: createLog({ part: 'test', level: 'silent' }),
  });
  const open = (ref: Buffer, by: OpenedBy = 'person', receivedAt = 1000, accountId = 7) => {
    const facts = { ip: '1.2.3.4', userAgent: 'x', trace: 'aa', isProxy: by !== 'person' };
    opens.recordOpen({ ...facts, accountId, ref, by, receivedAt });
  };
  return { open, counts: opens.counts, close: () => opens.close(1000) };
}

async function times() {
  const { rows } = await postgres.database.query<Record<string, unknown>>(
    `SELECT (extract(epoch FROM opened_at) * 1000)::int AS any, (extract(epoch FROM opened_by_person_at) * 1000)::int AS person
     FROM message_recipients ORDER BY ref LIMIT 2`,
  );
  return rows.map(({ any, person }) => [any, person]);
}

const bodies = () =>
  written.map(({ bytes }) => JSON.parse(bytes.whole?.toString() ?? '') as Record<string, object>);

describe('the opens of messages', () => {
  it('become one event each, whoever opens a message how often', async () => {
    for (let process = 0; process < 2; process++) {
      const { open, close } = opened();
      open(FIRST, 'person', 1000 + process);
      open(FIRST, 'person', 2000);
      open(SECOND, 'person', 3000);
      await close();
    }
    expect(written.map(({ events }) => events[0]?.message_id)).toEqual([
      openEventId({ ref: FIRST }),
      openEventId({ ref: SECOND }),
    ]);
    expect(written[0]).toMatchObject({
      request: {
        principal: { accountId: 7, appId: 0, writeKeyId: 0 },
        ...{ source: 'platform', path: '/e/o', ip: '', userAgent: '', trace: 'aa' },
        receivedAt: 1000,
      },
      events: [{ distinctId: 'u\\1', type: 'track', generated: false, timestamp: 1000 }],
    });
    expect(bodies()[0]).toMatchObject({
      event: 'message_opened',
      properties: { channel: 'email', opened_by: 'person' },
    });
    expect(await times()).toEqual([
      [1000, 1000],
      [3000, 3000],
    ]);
  });

  it('by a proxy and later by a person are one event, and count as opened by a person', async () => {
    const { open, close } = opened();
    open(FIRST, 'proxy', 1000);
    await close();
    expect(await times()).toEqual([
      [1000, null],
      [null, null],
    ]);
    const later = opened();
    later.open(FIRST, 'proxy', 1500);
    later.open(FIRST, 'person', 2000);
    later.open(SECOND, 'bot', 2000);
    later.open(SECOND, 'person', 2500);
    await later.close();
    expect(bodies().map(({ properties }) => properties)).toMatchObject([
      { opened_by: 'proxy' },
      { opened_by: 'person' },
    ]);
    expect(await times()).toEqual([
      [1000, 2000],
      [2000, 2500],
    ]);
  });

  it('are written again when PostgreSQL did not answer or an event was not durable', async () => {
    vi.useFakeTimers();
    const { open, counts } = opened();
    isDown = true;
    open(FIRST);
    open(SECOND);
    await vi.advanceTimersByTimeAsync(2000);
    expect(written).toEqual([]);
    expect(counts.waiting).toBe(2);
    isDown = false;
    durable = 1;
    vi.useRealTimers();
    const { open: again, close } = opened();
    again(FIRST);
    again(SECOND);
    await close();
    expect(written).toHaveLength(1);
    durable = 1;
    const last = opened();
    last.open(FIRST);
    last.open(SECOND);
    await last.close();
    expect(written.map(({ events }) => events[0]?.message_id).toSorted()).toEqual(
      [FIRST, SECOND].map((ref) => openEventId({ ref })).toSorted(),
    );
  });

  it('of one account do not take the room of others', async () => {
    isDown = true;
    const { open, counts, close } = opened();
    for (let at = 0; at < 25_002; at++) {
      const ref = Buffer.alloc(12);
      ref.writeUInt32BE(at);
      open(ref);
    }
    open(FIRST, 'person', 1000, 8);
    expect(counts.waiting).toBe(25_001);
    await close();
    expect(counts.dropped).toBe(2);
  });

  it('of no message, of another account, and of nobody are no events', async () => {
    const { open, close } = opened();
    open(Buffer.alloc(12, 9));
    open(FIRST, 'person', 1000, 8);
    open(ANONYMOUS);
    await close();
    expect(written).toEqual([]);
  });
});
