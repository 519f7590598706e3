import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { accepted, changes } from '../../events/channels/testing/drawn-changes.ts';
import { addInboxEntries } from '../../platform/inbox/inbox-entries.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { createLog } from '../../platform/log.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { channelCommandCodec } from '../../schemas/codec.ts';
import type { ChannelCommand } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { addressTask, type AddressDeps } from './task.ts';

const PARTITION = 3;

let migrated: MigratedDatabase;
let deps: AddressDeps;
let inserted: { address_id: string; version: number }[];
let applied: number;
let unreadable: number;

beforeAll(async () => {
  migrated = await migratedDatabase(['0001', '0024', '0050', '0051']);
}, 60_000);
afterAll(() => migrated.close());
beforeEach(async () => {
  for (const table of ['channel_positions', 'channel_addresses', 'consent_log', 'log_epochs'])
    await migrated.database.query(`DELETE FROM ${table}`);
  [inserted, applied, unreadable] = [[], 0, 0];
  deps = {
    ...{ database: migrated.database, cluster: '', signal: new AbortController().signal },
    log: createLog({ part: 'test', level: 'silent' }),
    clickhouse: {
      insert: ({ values }) => {
        inserted.push(...(values as unknown as typeof inserted));
        return Promise.resolve({ executed: true, query_id: '', response_headers: {} });
      },
    },
    metrics: { applied: ({ length }) => (applied += length), unreadable: () => unreadable++ },
  };
});

function linked(chat: string, received_at: number): ChannelCommand {
  const [command] = accepted(fc.sample(changes, 1));
  if (!command) throw new Error('a command');
  return {
    ...{ ...command, kind: 'messenger_linked', channel: 'bale', user_id: 'u', address_id: chat },
    ...{ device: null, received_at },
  };
}

/** Records from an offset on; a text is no command. */
function messages(from: number, sent: readonly (ChannelCommand | string)[]): ConsumedMessage[] {
  return sent.map((one, at) => {
    const value = typeof one === 'string' ? Buffer.from(one) : channelCommandCodec.encode(one);
    const place = { topic: TOPIC.channelCommands, partition: PARTITION, offset: from + at };
    return { ...place, timestamp: 0, key: null, value, size: value.length };
  });
}

async function chats(): Promise<string[]> {
  const { rows } = await migrated.database.query<{ address_id: string }>(
    'SELECT address_id FROM channel_addresses ORDER BY received_at',
  );
  return rows.map(({ address_id }) => address_id);
}

const open = (committed?: number) => addressTask(deps, { partition: PARTITION, committed });

describe('the task of a partition of channel.commands', () => {
  it('applies each command once, and writes again what a crash left unpublished', async () => {
    const first = await open();
    expect(first.from).toBe(0);
    const batch = messages(0, [linked('a', 1), linked('b', 2)]);
    await first.process(batch);
    // It was killed before its commit.
    const second = await open();
    await second.process([...batch, ...messages(2, [linked('c', 3)])]);
    expect(applied).toBe(3);
    expect(await chats()).toEqual(['a', 'b', 'c']);
    expect(inserted.map(({ address_id }) => address_id)).toEqual(['a', 'b', 'a', 'b', 'c']);
  });

  it('begins where PostgreSQL is, which was restored to an earlier time than the commit', async () => {
    const before = await open();
    await before.process(messages(0, [linked('a', 1)]));
    const after = await open(5);
    expect(after.from).toBe(1);
  });

  it('applies the records of a new epoch, whose offsets are below the position', async () => {
    const before = await open();
    await before.process(messages(0, [linked('a', 1), linked('lost', 2), linked('lost2', 3)]));
    await deps.database.query(
      `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason) VALUES ($1, $2, 4, 1, 'the log went back')`,
      [TOPIC.channelCommands, PARTITION],
    );
    const after = await open(1);
    expect(after.from).toBe(1);
    await after.process(messages(1, [linked('new', 4)]));
    // What was accepted first stays the earlier one, whatever is read later.
    expect(await chats()).toEqual(['a', 'lost', 'lost2', 'new']);
    const { rows } = await deps.database.query(
      'SELECT epoch, next_offset::int FROM channel_positions',
    );
    expect(rows).toEqual([{ epoch: 4, next_offset: 2 }]);
    // Its position is of the new epoch: nothing is applied again.
    const third = await open(2);
    expect(third.from).toBe(2);
    expect(applied).toBe(4);
  });

  it('publishes what lost records changed, when a kill came between the two stores', async () => {
    const controller = new AbortController();
    const insert = () => {
      controller.abort(new Error('killed'));
      return Promise.reject(new Error('killed'));
    };
    const killed = await addressTask(
      { ...deps, clickhouse: { insert }, signal: controller.signal },
      { partition: PARTITION, committed: undefined },
    );
    await expect(killed.process(messages(0, [linked('lost', 1)]))).rejects.toThrow('killed');
    await deps.database.query(
      `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason) VALUES ($1, $2, 1, 0, 'the log went back')`,
      [TOPIC.channelCommands, PARTITION],
    );
    await open();
    expect(inserted.map(({ address_id }) => address_id)).toEqual(['lost']);
  });

  it('skips a record that cannot be decoded, and counts it', async () => {
    const task = await open();
    await task.process(messages(0, ['damaged', linked('a', 1)]));
    expect([unreadable, await chats()]).toEqual([1, ['a']]);
  });

  it('waits at a command of a newer release', async () => {
    const task = await open();
    const newer = { ...linked('a', 1), kind: 'something_else' };
    await expect(task.process(messages(0, [newer]))).rejects.toThrow('something_else');
    expect(await chats()).toEqual([]);
  });

  it('marks what was read in an inbox, the same however often it is applied', async () => {
    const at = 1_700_000_000_000;
    const entry = { accountId: 1, userId: 'u', title: '', body: '', createdAt: at };
    await addInboxEntries(
      deps.database,
      ['m1', 'm2'].map((id) => ({ ...entry, id })),
    );
    const read = (received_at: number) => ({
      ...{ ...linked('', received_at), kind: 'inbox_read', channel: 'inapp', address_id: '' },
      inbox: { ids: ['m1', 'unknown'] },
    });
    const task = await open();
    await task.process(messages(0, [read(at + 2000)]));
    await task.process(messages(1, [read(at + 1000)]));
    const { rows } = await deps.database.query<{ id: string; read_at: Date | null }>(
      'SELECT id, read_at FROM inbox_entries ORDER BY id',
    );
    expect(rows.map(({ id, read_at }) => [id, read_at?.getTime()])).toEqual([
      ['m1', at + 1000],
      ['m2', undefined],
    ]);
  });
});
