import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { accepted, changes } from '../../events/channels/testing/drawn-changes.ts';
import { countCommands, readCommandTotals } from './books.ts';
import { Registers, type PlacedCommand } from './registers.ts';
import { addressDatabase, type AddressDatabase } from './testing/address-database.ts';
import { placed } from './testing/placed.ts';
import { writeBatch } from './write-batch.ts';

let database: AddressDatabase;
let position: number;
beforeAll(async () => {
  database = await addressDatabase();
}, 30_000);
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['channel_positions', 'channel_books'])
    await database.query(`DELETE FROM ${table}`);
  position = 0;
});

interface Written {
  before: number;
  refused?: number;
  gateway?: string;
  account?: number;
}

/** What the projection does with a batch of one partition. */
async function apply(...batch: readonly Written[]): Promise<void> {
  const [template] = accepted(fc.sample(changes, 1));
  if (!template) throw new Error('a command');
  const commands: PlacedCommand[] = placed(
    batch.map(({ before, refused = 0, gateway = 'g', account = 1 }) => ({
      ...{ ...template, account_id: account, gateway },
      ...{ written_before: before, refused_before: refused },
    })),
    { partition: 2, from: position },
  );
  const books = await countCommands(database, { partition: 2, commands });
  const from = { epoch: 0, next: position };
  position += batch.length;
  const to = { epoch: 0, next: position };
  const registers = new Registers(commands);
  await writeBatch(database, { partition: 2, from, to, registers, consents: [], books });
}

describe('the books of commands', () => {
  it('balance while every command that was answered 200 is in the log', async () => {
    await apply({ before: 0 }, { before: 1 });
    await apply({ before: 2 }, { before: 0, gateway: 'h' }, { before: 0, account: 2 });
    expect(await readCommandTotals(database)).toEqual({ accepted: 5, applied: 5, missing: 0 });
    expect(await readCommandTotals(database, 2)).toEqual({ accepted: 1, applied: 1, missing: 0 });
  });

  it('show a command that was answered 200 and is not in the log', async () => {
    await apply({ before: 0 }, { before: 3 });
    expect(await readCommandTotals(database)).toEqual({ accepted: 4, applied: 2, missing: 2 });
    await apply({ before: 4 });
    expect(await readCommandTotals(database)).toMatchObject({ missing: 2 });
  });

  it('count a repeat of a publish once', async () => {
    await apply({ before: 0 }, { before: 1 }, { before: 0 });
    await apply({ before: 1 }, { before: 2 });
    expect(await readCommandTotals(database)).toEqual({ accepted: 3, applied: 3, missing: 0 });
  });

  it('miss no command that was answered 503, whether it is in the log or not', async () => {
    await apply({ before: 0 }, { before: 2, refused: 1 });
    expect(await readCommandTotals(database)).toMatchObject({ missing: 0 });
    await apply({ before: 3, refused: 1 }, { before: 4, refused: 2 });
    expect(await readCommandTotals(database)).toMatchObject({ missing: 0 });
  });
});
