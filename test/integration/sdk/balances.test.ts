import { randomInt } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { readBalances } from '../../../ops/quality/read-balances.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

const client = openClickhouse();
afterAll(() => client.close());

interface Reported {
  version: string;
  client: string;
  /** s */
  ago: number;
  made: number;
  sent: number;
  dropped?: Record<string, number>;
  in_request: number;
}

/** As the quality-sink stores what an account's clients report. */
async function report(accountId: number, balances: Reported[]): Promise<void> {
  const values = balances.map(({ ago, dropped = {}, ...one }) => ({
    ...{ account_id: accountId, app_id: 1, library: 'ravand-browser', stored: one.made, dropped },
    ...{ received_at: (Date.now() / 1000 - ago).toFixed(3), ...one },
  }));
  // One insert each: rows of a key replace each other.
  for (const value of values)
    await client.insert({ table: 'sdk_balances', values: [value], format: 'JSONEachRow' });
}
const read = async (accountId: number) => {
  const found = await readBalances(client, { since: Date.now() - 3_600_000, accountId, limit: 10 });
  return found.map(({ version, clients, made, sent, dropped, unresolved }) => ({
    ...{ version, clients, made, sent, dropped, unresolved },
  }));
};

it('a version gets what its clients counted while they ran it', async () => {
  const accountId = randomInt(1e9, 2e9);
  await report(accountId, [
    { version: '1.0.0', client: 'a', ago: 100, made: 40, sent: 30, in_request: 5 },
    {
      version: '1.0.0',
      client: 'a',
      ago: 90,
      made: 100,
      sent: 90,
      dropped: { full: 2 },
      in_request: 5,
    },
    {
      version: '2.0.0',
      client: 'a',
      ago: 80,
      made: 155,
      sent: 149,
      dropped: { full: 2 },
      in_request: 1,
    },
    {
      version: '1.0.0',
      client: 'b',
      ago: 70,
      made: 20,
      sent: 9,
      dropped: { unknown: 1 },
      in_request: 0,
    },
  ]);
  expect(await read(accountId)).toEqual([
    {
      ...{ version: '1.0.0', clients: 2, made: 120, sent: 99 },
      // Of the client that has gone on to 2.0.0, what waited is counted there.
      ...{ dropped: { full: 2, unknown: 1 }, unresolved: 10 },
    },
    { version: '2.0.0', clients: 1, made: 55, sent: 59, dropped: {}, unresolved: 3 },
  ]);
});

it('a client whose storage was cleared begins again, and one of earlier days is left out', async () => {
  const accountId = randomInt(1e9, 2e9);
  await report(accountId, [
    { version: '1.0.0', client: 'c', ago: 70, made: 50, sent: 50, in_request: 0 },
    {
      version: '2.0.0',
      client: 'c',
      ago: 60,
      made: 5,
      sent: 4,
      dropped: { full: 1 },
      in_request: 0,
    },
    { version: '1.0.0', client: 'd', ago: 864_000, made: 7, sent: 7, in_request: 0 },
  ]);
  expect(await read(accountId)).toEqual([
    { version: '1.0.0', clients: 1, made: 50, sent: 50, dropped: {}, unresolved: 0 },
    { version: '2.0.0', clients: 1, made: 5, sent: 4, dropped: { full: 1 }, unresolved: 0 },
  ]);
});
