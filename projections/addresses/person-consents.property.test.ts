import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { channelChange } from '../../events/channels/channel-change.ts';
import { isLater } from '../../events/channels/command-order.ts';
import { accepted } from '../../events/channels/testing/drawn-changes.ts';
import { readAddresses } from '../../platform/addresses/read-addresses.ts';
import type { ChannelCommand } from '../../schemas/records.ts';
import { chainConsents } from './chain-consents.ts';
import { Registers } from './registers.ts';
import { addressDatabase, type AddressDatabase } from './testing/address-database.ts';
import { placed } from './testing/placed.ts';
import { writeBatch } from './write-batch.ts';

let database: AddressDatabase;
let position = 0;
let account = 0;

beforeAll(async () => {
  database = await addressDatabase();
}, 30_000);
afterAll(() => database.close());

const NAMES = ['u', 'browser', 'stranger'] as const;
type Name = (typeof NAMES)[number];

/** A consent of a page, of an operator or of an SDK: what a person decides, wherever. */
const changes = fc
  .record({
    user_id: fc.constantFrom(...NAMES),
    channel: fc.constantFrom('email' as const, 'sms' as const),
    state: fc.constantFrom('subscribed', 'unsubscribed'),
  })
  .map(({ state, ...who }) =>
    channelChange({
      ...{ kind: 'consent_changed', ...who },
      consent: { state, text_version: '', ip: '', user_agent: '' },
    }),
  );

async function write(commands: readonly ChannelCommand[]): Promise<void> {
  const registers = new Registers(placed(commands, { partition: 1, from: position }));
  const consents = await chainConsents(database, registers.consentChanges);
  const to = position + commands.length;
  const [from, next] = [position, to].map((offset) => ({ epoch: 0, next: offset }));
  if (from && next)
    await writeBatch(database, { partition: 1, from, to: next, registers, consents });
  position = to;
}

/** The last consent of each channel under some names. */
function folded(commands: readonly ChannelCommand[], names: readonly Name[]): object {
  const last = new Map<string, ChannelCommand>();
  for (const command of commands) {
    const known = last.get(command.channel);
    if (names.includes(command.user_id as Name) && (!known || isLater(command, known)))
      last.set(command.channel, command);
  }
  return Object.fromEntries([...last].map(([channel, { consent }]) => [channel, consent?.state]));
}

const consentsOf = async (userId: Name) =>
  (await readAddresses(database, { accountId: account, userId })).consents;

async function merge(canonical: Name): Promise<void> {
  await database.query('DELETE FROM identity_names WHERE account_id = $1', [account]);
  await database.query(
    `INSERT INTO identity_names (account_id, name, canonical, revision) VALUES ($1, 'u', 'u', 1), ($1, 'browser', $2, 1)`,
    [account, canonical],
  );
}

it('the consent of a person is the last one under any name, and after an undone merge that of each', async () => {
  const drawn = fc.array(changes, { minLength: 1, maxLength: 12 }).chain((sent) =>
    fc.record({
      sent: fc.constant(accepted(sent)),
      read: fc.shuffledSubarray(accepted(sent), { minLength: sent.length }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(drawn, async ({ sent, read }) => {
      account++;
      const own = (one: ChannelCommand) => ({ ...one, account_id: account });
      await write(read.map(own));
      await merge('u');
      const together = folded(sent, ['u', 'browser']);
      expect([await consentsOf('u'), await consentsOf('browser')]).toEqual([together, together]);
      expect(await consentsOf('stranger')).toEqual(folded(sent, ['stranger']));
      await merge('browser');
      for (const name of NAMES) expect(await consentsOf(name)).toEqual(folded(sent, [name]));
    }),
    { numRuns: 30 },
  );
}, 60_000);
