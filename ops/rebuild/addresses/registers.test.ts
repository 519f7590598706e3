import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { channelChange } from '../../../events/channels/channel-change.ts';
import { accepted, changes } from '../../../events/channels/testing/drawn-changes.ts';
import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import { readEpochs } from '../../../platform/log/epochs.ts';
import { createLog } from '../../../platform/log.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { drawnRuns } from '../../../platform/testing/drawn-runs.ts';
import { addressTask, type AddressDeps } from '../../../projections/addresses/task.ts';
import { channelCommandCodec } from '../../../schemas/codec.ts';
import type { ChannelCommand } from '../../../schemas/records.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { compareRegisters, lostRows } from './compare-registers.ts';
import { fillRegisters } from './fill-registers.ts';
import { REGISTER_TABLES } from './register-tables.ts';
import { repairRegisters } from './repair-registers.ts';
import { createShadowSchema, dropShadowSchema } from './shadow-schema.ts';

const log = createLog({ part: 'test', level: 'silent' });

const ENDS = [0, 1].map((partition) => ({ partition, low: 0 }));

let migrated: MigratedDatabase;
let partitions: ConsumedMessage[][];

beforeAll(async () => {
  migrated = await migratedDatabase(['0001', '0024', '0050', '0051']);
}, 60_000);
afterAll(() => migrated.close());
beforeEach(async () => {
  for (const table of ['channel_positions', 'log_epochs', ...REGISTER_TABLES.map((t) => t.name)])
    await migrated.database.query(`DELETE FROM ${table}`);
  partitions = [[], []];
  await createShadowSchema(migrated.database);
});

const bounced = (message: number) =>
  channelChange({
    ...{ kind: 'soft_bounced', channel: 'email', user_id: 'u1', address_id: 'a@b.ir' },
    message_ref: Buffer.from([message]),
  });
const consented = (user_id: string, state: string) =>
  channelChange({
    ...{ kind: 'consent_changed', channel: 'email', user_id },
    consent: { state, text_version: '', ip: '', user_agent: '' },
  });

const drawn = fc.oneof(
  { arbitrary: changes, weight: 4 },
  fc.nat(7).map(bounced),
  fc
    .record({
      user: fc.constantFrom('u1', 'u\0'),
      state: fc.constantFrom('subscribed', 'unsubscribed'),
    })
    .map(({ user, state }) => consented(user, state)),
);

/** Appends commands; those of a user are in one partition. */
function append(commands: readonly ChannelCommand[]): void {
  for (const command of commands) {
    const partition = command.user_id === 'u1' ? 0 : 1;
    const value = channelCommandCodec.encode(command);
    const offset = partitions[partition]?.length ?? 0;
    const place = { topic: TOPIC.channelCommands, partition, offset };
    partitions[partition]?.push({ ...place, timestamp: 0, key: null, value, size: value.length });
  }
}

/** What addresses-sink does with a partition, from its position to the end. */
async function apply(partition: number, batch: number): Promise<void> {
  const deps: AddressDeps = {
    ...{ database: migrated.database, log, cluster: '', signal: new AbortController().signal },
    clickhouse: {
      insert: () => Promise.resolve({ executed: true, query_id: '', response_headers: {} }),
    },
    metrics: { applied: () => undefined, unreadable: () => undefined },
  };
  const own = partitions[partition] ?? [];
  const task = await addressTask(deps, { partition, committed: own.length });
  for (let from = task.from ?? 0; from < own.length; from += batch)
    await task.process(own.slice(from, from + batch));
}

async function fill(): Promise<void> {
  await fillRegisters({
    ...{ database: migrated.database, log, partitions: ENDS, progress: () => undefined },
    epochs: await readEpochs(migrated.database, TOPIC.channelCommands),
    async *read(partition, { from, to }) {
      const own = partitions[partition] ?? [];
      for (let at = from; at < to; at += 3) {
        await Promise.resolve();
        yield own.slice(at, Math.min(to, at + 3));
      }
    },
  });
}

const compare = () => compareRegisters(migrated.database);
const query = (sql: string) => migrated.database.query(sql);

describe('a rebuild of addresses', () => {
  it('is equal to the live tables, in whatever batches both were written', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(drawn, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 1, max: 9 }),
        async (sent, batch) => {
          for (const table of ['channel_positions', ...REGISTER_TABLES.map(({ name }) => name)])
            await query(`DELETE FROM ${table}`);
          await createShadowSchema(migrated.database);
          partitions = [[], []];
          append(accepted(sent));
          await apply(1, batch);
          await apply(0, batch);
          await fill();
          const found = await compare();
          expect(found).toMatchObject({ differing: 0, moved_on: 0, examples: [] });
          expect(found.equal).toBe(found.compared);
        },
      ),
      { numRuns: drawnRuns(12) },
    );
  });

  it('counts what the live tables got since then as moved on, and nothing else', async () => {
    append(accepted([consented('u1', 'subscribed'), bounced(1)]));
    await apply(0, 9);
    await fill();
    append(accepted([consented('u1', 'unsubscribed')]).map((one) => ({ ...one, sequence: 9 })));
    await apply(0, 9);
    expect(await compare()).toMatchObject({ differing: 0, moved_on: 2 });
    // The rest follows when the rebuild goes on.
    await fill();
    expect(await compare()).toMatchObject({ differing: 0, moved_on: 0 });
  });

  it('finds what is missing, changed or too much, and mends it', async () => {
    const chat = (address_id: string) =>
      channelChange({ kind: 'messenger_linked', channel: 'bale', user_id: 'u1', address_id });
    append(accepted([chat('a'), chat('b'), consented('u1', 'subscribed'), bounced(1)]));
    await apply(0, 9);
    await fill();
    await query(`UPDATE channel_addresses SET user_id = 'u2' WHERE address_id = 'a'`);
    await query(`DELETE FROM channel_addresses WHERE address_id = 'b'`);
    await query(
      `INSERT INTO channel_addresses SELECT account_id, channel, 'c', app_id, user_id, anonymous_id, token_hash, details, received_at, gateway, sequence FROM channel_addresses WHERE address_id = 'a'`,
    );
    await query(`UPDATE consent_log SET state = 'unsubscribed'`);
    const found = await compare();
    expect(found.differing).toBe(5);
    expect(found.examples.map(({ state }) => state).sort()).toEqual([
      ...['differs', 'only live', 'only live', 'only rebuilt', 'only rebuilt'],
    ]);
    expect(await repairRegisters(migrated.database)).toBe(4);
    expect(await compare()).toMatchObject({ differing: 0 });
    expect(await repairRegisters(migrated.database)).toBe(0);
  });

  it('counts rows of records that the log lost, which a swap would remove', async () => {
    append(accepted([consented('u1', 'subscribed'), bounced(1)]));
    await apply(0, 9);
    expect(await lostRows(migrated.database)).toBe(0);
    await query(
      `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason) VALUES ('channel.commands', 0, 1, 1, 'the log went back')`,
    );
    partitions[0]?.splice(1);
    append(accepted([bounced(2)]).map((one) => ({ ...one, sequence: 7 })));
    await apply(0, 9);
    await fill();
    expect(await lostRows(migrated.database)).toBe(1);
    expect(await compare()).toMatchObject({ differing: 1, moved_on: 0 });
  });

  it('leaves a chain as it is that an erasure has cut', async () => {
    append(accepted([consented('u1', 'subscribed'), consented('u1', 'unsubscribed')]));
    await apply(0, 1);
    await query('DELETE FROM consent_log WHERE number = 0');
    // The rewritten log holds an erased command in its place.
    const [first] = partitions[0] ?? [];
    if (!first?.value) throw new Error('a record');
    const erased = { ...channelCommandCodec.decode(first.value), kind: 'erased', consent: null };
    first.value = channelCommandCodec.encode(erased);
    await fill();
    expect(await compare()).toMatchObject({ differing: 0 });
    expect(await repairRegisters(migrated.database)).toBe(0);
    const { rows } = await migrated.database.query('SELECT number FROM consent_log');
    expect(rows).toEqual([{ number: 1 }]);
  });

  it('leaves nothing behind', async () => {
    await dropShadowSchema(migrated.database);
    const { rows } = await migrated.database.query(
      `SELECT 1 FROM information_schema.schemata WHERE schema_name = 'addresses_rebuilt'`,
    );
    expect(rows).toEqual([]);
  });
});
