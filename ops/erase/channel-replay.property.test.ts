import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { channelChange, type ChannelChange } from '../../events/channels/channel-change.ts';
import { accepted } from '../../events/channels/testing/drawn-changes.ts';
import { eraseFromChannelCommand } from '../../events/erasure/channel-command.ts';
import { addressHash, ErasedPeople, idHash } from '../../events/erasure/erased-people.ts';
import { createLog } from '../../platform/log.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { drawnRuns } from '../../platform/testing/drawn-runs.ts';
import { chainConsents } from '../../projections/addresses/chain-consents.ts';
import { Registers } from '../../projections/addresses/registers.ts';
import { suppressSoftBounces } from '../../projections/addresses/suppress-soft-bounces.ts';
import { placed } from '../../projections/addresses/testing/placed.ts';
import { writeBatch } from '../../projections/addresses/write-batch.ts';
import { channelCommandCodec } from '../../schemas/codec.ts';
import type { ChannelCommand } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { compareRegisters } from '../rebuild/addresses/compare-registers.ts';
import { fillRegisters } from '../rebuild/addresses/fill-registers.ts';
import { REGISTER_TABLES } from '../rebuild/addresses/register-tables.ts';
import { createShadowSchema } from '../rebuild/addresses/shadow-schema.ts';
import { addressesOf, removeChannels, restoreHolders } from './channel-rows.ts';

const KEY = Buffer.alloc(32, 3);
const TABLES = ['channel_positions', 'message_recipients', ...REGISTER_TABLES.map((t) => t.name)];

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0024', '0050', '0051', '0053', '0060']);
}, 60_000);
afterAll(() => postgres.close());

const users = fc.constantFrom('sara', 'ali');
const ids = fc.constantFrom('x1', 'x2');
/**
 * Devices are of one user, and keep their tokens, which devices of both users have. A message
 * bounces once: a second report after the erasure would find no recipient.
 */
const changes: fc.Arbitrary<ChannelChange> = fc
  .record({ user: users, id: ids, kind: fc.nat(7), state: fc.boolean(), ref: fc.uuid() })
  .map(({ user, id, kind, state, ref }) => {
    const address_id = `${user} ${id}`;
    const mail = { channel: 'email', user_id: user, address_id: `${address_id}@b.ir` } as const;
    const device = {
      ...{ platform: 'ios', push_token: id, push_provider: 'apns', app_version: '' },
      ...{ os_version: '', model: '', locale: '', timezone: '' },
    };
    const consent = { text_version: '', ip: '', user_agent: '' };
    const all: ChannelChange[] = [
      channelChange({
        kind: 'device_registered',
        channel: 'push',
        user_id: user,
        address_id,
        device,
      }),
      channelChange({
        kind: 'device_registered',
        channel: 'push',
        user_id: user,
        address_id,
        device,
      }),
      channelChange({ kind: 'device_unregistered', channel: 'push', address_id }),
      channelChange({ kind: 'messenger_linked', channel: 'bale', user_id: user, address_id }),
      channelChange({ kind: 'messenger_unlinked', channel: 'bale', user_id: user }),
      channelChange({
        ...{ kind: 'consent_changed', channel: 'email', user_id: user },
        consent: { ...consent, state: state ? 'subscribed' : 'unsubscribed' },
      }),
      channelChange({ kind: 'address_suppressed', ...mail, reason: '5.1.1' }),
      channelChange({ kind: 'soft_bounced', ...mail, message_ref: Buffer.from(ref) }),
    ];
    return all[kind] ?? channelChange({ kind: 'erased', channel: 'push' });
  });

async function applyAll(commands: readonly ChannelCommand[]): Promise<void> {
  const registers = new Registers(placed(commands, { partition: 0, from: 0 }));
  const consents = await chainConsents(postgres.database, registers.consentChanges);
  const [from, to] = [0, commands.length].map((next) => ({ epoch: 0, next }));
  if (!from || !to) throw new Error('two positions');
  await writeBatch(postgres.database, { partition: 0, from, to, registers, consents });
  await suppressSoftBounces(postgres.database, registers.softBounces.values());
}

it('an erasure leaves what the rewritten log leaves', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(changes, { minLength: 1, maxLength: 20 }),
      fc.nat(8),
      async (sent, after) => {
        for (const table of TABLES) await postgres.database.query(`DELETE FROM ${table}`);
        await createShadowSchema(postgres.database);
        const commands = accepted(sent);
        await applyAll(commands);
        // Some of the commands were accepted after the request.
        const person = { accountId: 1, names: ['sara'], at: 1000 + after };
        const own = await addressesOf(postgres.database, person);
        await removeChannels(postgres.database, person, own);
        await restoreHolders(postgres.database, 1);

        const erasure = {
          ...{ id: 1, accountId: 1, keyId: 1, requestedAt: person.at, cuts: [] },
          names: [idHash(KEY, 1, 'sara').toString('hex')],
          addresses: own.map((one) => addressHash(KEY, { accountId: 1, ...one }).toString('hex')),
        };
        const erased = new ErasedPeople([erasure], new Map([[1, KEY]]));
        const rewritten = commands.map((command, offset) => {
          const before = channelCommandCodec.encode(command);
          const value = eraseFromChannelCommand(before, erased) ?? before;
          const place = { topic: TOPIC.channelCommands, partition: 0, offset, timestamp: 0 };
          return { ...place, key: null, value, size: value.length };
        });
        await fillRegisters({
          ...{ database: postgres.database, partitions: [{ partition: 0, low: 0 }] },
          ...{ log: createLog({ part: 'test', level: 'silent' }), progress: () => undefined },
          epochs: await readEpochs(postgres.database, TOPIC.channelCommands),
          async *read() {
            await Promise.resolve();
            yield rewritten;
          },
        });
        const { differing, examples } = await compareRegisters(postgres.database);
        expect({ differing, examples }).toEqual({ differing: 0, examples: [] });
      },
    ),
    { numRuns: drawnRuns(60) },
  );
}, 60_000);
