import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accepted, changes } from '../../events/channels/testing/drawn-changes.ts';
import { suppressedAt } from '../../events/channels/testing/soft-bounces.ts';
import type { ChannelCommand } from '../../schemas/records.ts';
import { Registers } from './registers.ts';
import { suppressSoftBounces } from './suppress-soft-bounces.ts';
import { addressDatabase, type AddressDatabase } from './testing/address-database.ts';
import { placed } from './testing/placed.ts';
import { writeBatch } from './write-batch.ts';

const DAY = 86_400_000;

let database: AddressDatabase;
let account = 0;
let position = 0;

beforeAll(async () => {
  database = await addressDatabase();
}, 30_000);
afterAll(() => database.close());

async function write(commands: readonly ChannelCommand[]): Promise<void> {
  const registers = new Registers(placed(commands, { partition: 1, from: position }));
  const from = { epoch: 0, next: position };
  position += commands.length;
  const range = { partition: 1, from, to: { epoch: 0, next: position } };
  await writeBatch(database, { ...range, registers, consents: [] });
  await suppressSoftBounces(database, registers.softBounces.values());
}

const bounce = fc.record({
  message: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
  day: fc.nat(30),
});

it('soft bounces suppress an address in the same cases as in the model, in any batches', async () => {
  const [template] = accepted(fc.sample(changes, 1));
  if (!template) throw new Error('a command');
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(bounce, { maxLength: 8 }), { maxLength: 4 }),
      async (sent) => {
        account++;
        for (const batch of sent)
          await write(
            batch.map(({ message, day }) => ({
              ...{ ...template, account_id: account, kind: 'soft_bounced', channel: 'email' },
              ...{
                address_id: 'a@b.ir',
                message_ref: Buffer.from(message),
                received_at: day * DAY,
              },
            })),
          );
        const rows = await database.rows<'received_at'>(
          `SELECT received_at FROM channel_suppressions WHERE account_id = ${account} AND suppressed`,
        );
        const expected = suppressedAt(
          sent.flat().map(({ message, day }) => ({ message, at: day * DAY })),
        );
        expect(rows.length > 0).toBe(expected !== undefined);
      },
    ),
    { numRuns: 40 },
  );
});
