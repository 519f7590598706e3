import { describe, expect, it } from 'vitest';
import type { ReconciliationCounts } from '../../platform/meters/read-reconciliation.ts';
import { post } from '../support/client.ts';
import { Ledger } from '../support/ledger.ts';
import { startLoad } from '../support/load.ts';
import { testTimeout } from '../support/test-timeout.ts';
import {
  createAccount,
  eventually,
  FULL,
  killService,
  ravand,
  readyStack,
  sleep,
} from '../support/stack.ts';

async function booksOf(accountId: number): Promise<ReconciliationCounts> {
  return (
    JSON.parse(await ravand('status', '--json', '--account', String(accountId))) as {
      books: ReconciliationCounts;
    }
  ).books;
}

describe('G6: the books', () => {
  it('equal the counts of a client', async () => {
    const ready = readyStack();
    const account = await createAccount('books');
    const url = `${ready.ingest_url}/v1/batch`;
    const event = (message_id: string) => ({ type: 'track', event: 'x', user_id: 'u', message_id });
    await post(url, account.writeKey, {
      batch: [event('1'), event('2'), event('1'), { type: 'nonsense', user_id: 'u' }],
    });
    await post(url, account.writeKey, {
      batch: [event('2'), event('3'), { type: 'track', event: 'x' }],
    });
    await post(`${ready.ingest_url}/v1/track`, account.writeKey, { event: 'x' });
    await post(`${ready.ingest_url}/v1/track`, account.writeKey, '{');
    const books = await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'the books to balance' },
      async () => {
        const found = await booksOf(account.accountId);
        return found.received === 8 && found.in_flight === 0 ? found : undefined;
      },
    );
    expect(books).toEqual({
      received: 8,
      published: 3,
      duplicate: 2,
      rejected: 3,
      spooled: 0,
      stored: 3,
      dead: 0,
      lost: 0,
      in_flight: 0,
    });
  });

  it(
    'balance after kill -9 of the gateway, the normaliser and the sink under load',
    async () => {
      const ready = readyStack();
      const account = await createAccount('books under kills');
      const ledger = new Ledger();
      const load = startLoad({ ready, account, ledger, people: 10, pause: FULL ? 5 : 30 });
      for (const part of [
        'ingest-gateway',
        'normaliser',
        'events-sink',
        'metering',
        'ingest-gateway',
      ]) {
        await sleep(1500);
        await killService(part);
      }
      await sleep(2000);
      await load.stop();
      const books = await eventually(
        { ms: 90_000, every: 1500, waitingFor: 'the books to balance' },
        async () => {
          const found = await booksOf(account.accountId);
          return found.stored === ledger.durable.size &&
            found.in_flight === 0 &&
            found.spooled === 0
            ? found
            : undefined;
        },
      );
      expect(books.published).toBe(ledger.durable.size);
      expect(books.stored + books.dead).toBe(books.published);
      expect(books.received).toBe(
        books.rejected + books.duplicate + books.published + books.spooled,
      );
    },
    testTimeout(240_000),
  );
});
