import { expect } from 'vitest';
import type { ReconciliationCounts } from '../../platform/meters/read-reconciliation.ts';
import type { Ledger } from './ledger.ts';
import { eventually, ravand, type TestAccount } from './stack.ts';

const booksOfStatus = async (accountId: number): Promise<ReconciliationCounts> => {
  const text = await ravand('status', '--json', '--account', String(accountId));
  return (JSON.parse(text) as { books: ReconciliationCounts }).books;
};

/** Waits until the books balance with what the client was answered. */
export async function expectBalanced(
  { accountId }: TestAccount,
  ledger: Ledger,
  read = booksOfStatus,
): Promise<void> {
  const books = await eventually(
    { ms: 60_000, every: 1000, waitingFor: 'the books to balance' },
    async () => {
      const found = await read(accountId);
      return found.in_flight === 0 && found.stored === ledger.durable.size ? found : undefined;
    },
  );
  const { received, published, duplicate, rejected, stored, dead } = books;
  expect({ rejected, dead, stored }).toEqual({ rejected: 0, dead: 0, stored: ledger.durable.size });
  expect(published).toBe(stored);
  expect(received).toBe(published + duplicate);
}
