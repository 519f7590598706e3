import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { DispatchWorld, type Receiver } from './testing/dispatch-world.ts';

let postgres: MigratedDatabase;
let world: DispatchWorld;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060', '0070', '0071']);
}, 60_000);
afterAll(() => postgres.close());

beforeEach(async () => {
  const tables =
    'message_chunks, campaign_run_counts, message_totals, message_meters, message_outbox, message_sender_rates, campaigns, accounts';
  await postgres.database.query(`TRUNCATE ${tables} CASCADE`);
  world = new DispatchWorld(postgres);
});
afterEach(() => world.close());

const SENT: Receiver = {
  answer: (person) => Promise.resolve({ kind: 'sent', providerMessageId: person }),
};

describe('an account', () => {
  it('with 1,000 runs at a time lets nobody wait', async () => {
    const others = Promise.withResolvers<undefined>();
    world.receivers.set(1, {
      answer: async (person) => {
        await others.promise;
        return { kind: 'sent', providerMessageId: person };
      },
    });
    world.receivers.set(2, SENT);
    for (let id = 100; id < 1100; id++)
      await world.addRun({ id, accountId: 1, chunks: 1, recipients: 2 });
    world.open({ slots: 8, maxCalls: 40 });
    world.open({ slots: 8, maxCalls: 40 });
    await world.until(() => world.called.length >= 10);
    await world.addRun({ id: 9, accountId: 2, chunks: 10, recipients: 20 });
    await world.untilCounted(9, 200);
    expect(await world.counts(9)).toEqual({ sent: 200 });
    // As many as may be open at a time, in both processes.
    expect(world.called.length - 200).toBeLessThanOrEqual(80);
    others.resolve(undefined);
  }, 60_000);

  it('sends no more a second than it may, whatever its senders allow and however many processes send', async () => {
    const limit = 40;
    const times: number[] = [];
    let longest = 0;
    const query = async (text: string, values?: unknown[]) => {
      const began = performance.now();
      const answer = await postgres.database.query(text, values);
      longest = Math.max(longest, performance.now() - began);
      return answer;
    };
    const database = { query } as unknown as MigratedDatabase['database'];
    world = new DispatchWorld({ ...postgres, database });
    world.accountLimits.set(1, limit);
    world.receivers.set(1, {
      answer: (person) => {
        times.push(performance.now());
        return Promise.resolve({ kind: 'sent', providerMessageId: person });
      },
    });
    await world.addRun({ id: 7, accountId: 1, chunks: 5, recipients: 20 });
    world.open();
    world.open();
    await world.untilCounted(7, 100);
    expect(times).toHaveLength(100);
    // A part of a quarter of a second may come late, and on a busy machine what waits for the
    // statements before a call: for the part, for the lease and for the attempt.
    const lateSeconds = Math.max(0.25, (3 * longest) / 1000);
    const within = times.map((from) => times.filter((at) => at >= from && at < from + 1000).length);
    expect(Math.max(...within)).toBeLessThanOrEqual(limit * (1 + lateSeconds) + 1);
  }, 30_000);
});
