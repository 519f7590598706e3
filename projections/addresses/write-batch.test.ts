import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AddressBook } from '../../events/channels/address-book.ts';
import { brokenEntry } from '../../events/channels/consent-chain.ts';
import { accepted, changes } from '../../events/channels/testing/drawn-changes.ts';
import { unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { ChannelCommand } from '../../schemas/records.ts';
import { chainConsents } from './chain-consents.ts';
import { Registers } from './registers.ts';
import { suppressSoftBounces } from './suppress-soft-bounces.ts';
import { addressDatabase, type AddressDatabase } from './testing/address-database.ts';
import { placed } from './testing/placed.ts';
import { PositionMoved, writeBatch, type ChannelPosition } from './write-batch.ts';

const DAY = 86_400_000;

let database: AddressDatabase;
let position: number;
let account = 0;

beforeAll(async () => {
  database = await addressDatabase();
}, 30_000);
afterAll(() => database.close());
beforeEach(async () => {
  await database.query('DELETE FROM channel_positions', []);
  position = 0;
  account++;
});

async function write(commands: readonly ChannelCommand[]): Promise<void> {
  const registers = new Registers(placed(commands, { partition: 1, from: position }));
  const consents = await chainConsents(database, registers.consentChanges);
  const [from, to] = [position, position + commands.length].map((next) => ({ epoch: 0, next }));
  if (!from || !to) throw new Error('two positions');
  await writeBatch(database, { ...{ partition: 1, from, to }, registers, consents });
  await suppressSoftBounces(database, registers.softBounces.values());
  position = to.next;
}

function commandOf(facts: Partial<ChannelCommand>): ChannelCommand {
  const [command] = accepted(fc.sample(changes, 1));
  if (!command) throw new Error('a command');
  return { ...command, account_id: account, device: null, web_push: null, ...facts };
}

async function states(): Promise<Map<string, string>> {
  const rows = await database.rows<'channel' | 'address_id' | 'user_id' | 'reason'>(
    `SELECT channel, address_id, user_id, reason FROM channel_address_states WHERE account_id = ${account}`,
  );
  return new Map(
    rows.map(({ channel, address_id, user_id, reason }) => [
      `${channel} ${unescapeText(address_id)}`,
      `${unescapeText(user_id)}: ${reason}`,
    ]),
  );
}

describe('addresses in PostgreSQL', () => {
  it('are those of the model, in whatever batches and order the commands are read', async () => {
    const drawn = fc.array(changes, { minLength: 1, maxLength: 20 }).chain((sent) =>
      fc.record({
        sent: fc.constant(accepted(sent)),
        read: fc.shuffledSubarray(accepted(sent), { minLength: sent.length }),
        batch: fc.integer({ min: 1, max: 20 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(drawn, async ({ sent, read, batch }) => {
        account++;
        const own = (one: ChannelCommand) => ({ ...one, account_id: account });
        const book = new AddressBook();
        for (const command of sent) book.apply(own(command));
        for (let from = 0; from < read.length; from += batch)
          await write(read.slice(from, from + batch).map(own));
        const expected = book
          .all()
          .map(
            ({ channel, id, user_id, reason }) =>
              [`${channel} ${id}`, `${user_id}: ${reason}`] as const,
          );
        expect(await states()).toEqual(new Map(expected));
      }),
      { numRuns: 60 },
    );
  });

  it('are written by one process: a second one with the same position changes nothing', async () => {
    const linked = { kind: 'messenger_linked', channel: 'bale' };
    await write([commandOf({ ...linked, address_id: 'one' })]);
    const other = commandOf({ ...linked, address_id: 'other' });
    const registers = new Registers(placed([other], { partition: 1, from: 0 }));
    const late = (from: ChannelPosition) =>
      writeBatch(database, {
        ...{ partition: 1, from, to: { epoch: 0, next: 5 } },
        ...{ registers, consents: [] },
      });
    await expect(late({ epoch: 0, next: 0 })).rejects.toBeInstanceOf(PositionMoved);
    // A process that was suspended while the log went back knows the offset in an earlier epoch.
    await database.query('UPDATE channel_positions SET epoch = 1', []);
    await expect(late({ epoch: 0, next: 1 })).rejects.toBeInstanceOf(PositionMoved);
    expect([...(await states()).keys()]).toEqual(['bale one']);
  });
});

describe('consents in PostgreSQL', () => {
  it('are the last change of each channel, and every change in a chain', async () => {
    let sequence = 0;
    const change = (at: number, channel: string, state: string) =>
      commandOf({
        sequence: sequence++,
        ...{ kind: 'consent_changed', channel, user_id: 'ب\\', received_at: at, source: 'page' },
        consent: { state, text_version: 'v1', ip: '::1', user_agent: 'a' },
      });
    await write([change(1, 'email', 'unsubscribed'), change(3, 'sms', 'unsubscribed')]);
    await write([change(2, 'email', 'subscribed')]);
    // It was accepted before the change of 2, and read after it. The gateway published it twice.
    const late = change(1, 'email', 'unsubscribed');
    await write([late, late]);
    await write([late]);
    const now = await database.rows<'channel' | 'state'>(
      `SELECT channel, state FROM channel_consents WHERE account_id = ${account} ORDER BY channel`,
    );
    expect(now.map(({ channel, state }) => [channel, state])).toEqual([
      ['email', 'subscribed'],
      ['sms', 'unsubscribed'],
    ]);
    const log = await database.rows<string>(
      `SELECT channel, state, received_at::text AS received_at, encode(hash, 'hex') AS hash FROM consent_log WHERE account_id = ${account} ORDER BY number`,
    );
    const entries = log.map(({ channel = '', state = '', received_at, hash = '' }, number) => ({
      number,
      entry: {
        ...{ channel, state, source: 'page', textVersion: 'v1', ip: '::1', userAgent: 'a' },
        receivedAt: Number(received_at),
      },
      hash: Buffer.from(hash, 'hex'),
    }));
    expect(entries).toHaveLength(4);
    expect(brokenEntry({ accountId: account, userId: 'ب\\' }, entries)).toBeUndefined();
  });
});

describe('soft bounces', () => {
  const bounce = (message: number, day: number) =>
    commandOf({
      ...{ kind: 'soft_bounced', channel: 'email', address_id: 'a@b.ir' },
      ...{ message_ref: Buffer.from([message]), received_at: day * DAY },
    });
  const suppressed = async () => {
    const rows = await database.rows<'reason'>(
      `SELECT reason FROM channel_suppressions WHERE account_id = ${account} AND suppressed`,
    );
    return rows.map(({ reason }) => reason);
  };

  it('suppress an address when five messages bounced within 14 days, each once', async () => {
    await write([bounce(1, 1), bounce(1, 2), bounce(2, 3), bounce(3, 4), bounce(4, 5)]);
    expect(await suppressed()).toEqual([]);
    await write([bounce(5, 14.9)]);
    expect(await suppressed()).toEqual(['soft_bounces']);
  });

  it('suppress nothing when they are spread over a longer time', async () => {
    await write([1, 5, 9, 13, 17, 21].map((day) => bounce(day, day)));
    expect(await suppressed()).toEqual([]);
  });

  it('count from the beginning after the address was restored', async () => {
    await write([1, 2, 3, 4, 5].map((day) => bounce(day, day)));
    const about = { channel: 'email', address_id: 'a@b.ir', received_at: 6 * DAY };
    await write([commandOf({ kind: 'address_restored', ...about })]);
    await write([bounce(7, 7), bounce(8, 8)]);
    expect(await suppressed()).toEqual([]);
    await write([bounce(9, 9), bounce(10, 10), bounce(11, 11)]);
    expect(await suppressed()).toEqual(['soft_bounces']);
  });
});
