import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AddressBook } from '../../events/channels/address-book.ts';
import { channelChange } from '../../events/channels/channel-change.ts';
import { brokenEntry } from '../../events/channels/consent-chain.ts';
import { accepted, changes } from '../../events/channels/testing/drawn-changes.ts';
import { partitionOf } from '../../events/partition.ts';
import { createLog } from '../../platform/log.ts';
import type { PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import { unescapeText } from '../../platform/postgres/escaped-text.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { drawnRuns } from '../../platform/testing/drawn-runs.ts';
import { channelCommandCodec } from '../../schemas/codec.ts';
import type { ChannelCommand } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { firstUnapplied, readPosition } from './position.ts';
import { addressTask } from './task.ts';

const topic = TOPIC.channelCommands;
const PARTITIONS = 2;
/** What names places in the log. */
const TABLES = [
  'channel_positions',
  'channel_addresses',
  'channel_ends',
  'channel_tokens',
  'log_epochs',
];

let migrated: MigratedDatabase;
let account = 0;

beforeAll(async () => {
  migrated = await migratedDatabase(['0001', '0024', '0050', '0051', '0056']);
}, 60_000);
afterAll(() => migrated.close());

/** Where a process is killed: at its nth statement, before or after its server executed it. */
interface Kill {
  statement: number;
  isExecuted: boolean;
}

type Step =
  | { kind: 'process'; partition: number; records: number; kill: Kill | undefined }
  | { kind: 'go_back'; partition: number; records: number };

const partitions = fc.integer({ min: 0, max: PARTITIONS - 1 });
const kills = fc.record({ statement: fc.integer({ min: 1, max: 8 }), isExecuted: fc.boolean() });
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('process' as const),
        partition: partitions,
        records: fc.integer({ min: 1, max: 6 }),
        kill: fc.option(kills, { nil: undefined }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('go_back' as const),
        partition: partitions,
        records: fc.integer({ min: 1, max: 4 }),
      }),
    },
  ) satisfies fc.Arbitrary<Step>,
  { maxLength: 12 },
);

const consents = fc
  .record({
    user_id: fc.constantFrom('u1', 'b\\\\'),
    channel: fc.constantFrom('email' as const, 'sms' as const),
    state: fc.constantFrom('subscribed', 'unsubscribed'),
  })
  .map(({ user_id, channel, state }) =>
    channelChange({
      ...{ kind: 'consent_changed', channel, user_id },
      consent: { state, text_version: '', ip: '', user_agent: '' },
    }),
  );

/** Accepted by two gateways at about the same time: many commands have the time of another one. */
const commands = fc
  .array(fc.record({ change: fc.oneof(changes, consents), gateway: fc.constantFrom('g', 'h') }), {
    maxLength: 24,
  })
  .map((drawn) =>
    accepted(drawn.map(({ change }) => change)).map((command, at) => ({
      ...command,
      gateway: drawn[at]?.gateway ?? 'g',
    })),
  );

class Killed extends Error {}

/** One partition: its records, and the process that reads them. */
class ReadPartition {
  readonly number: number;
  readonly clickhouse: Map<string, { version: number; state: string }>;
  readonly log: ChannelCommand[] = [];
  /** Applied or not, everything that was accepted and not lost. */
  readonly known = new Set<ChannelCommand>();
  #committed: number | undefined;
  #task: PartitionTask | undefined;
  #next = 0;
  #kill: Kill | undefined;

  constructor(number: number, clickhouse: ReadPartition['clickhouse']) {
    this.number = number;
    this.clickhouse = clickhouse;
  }

  append(command: ChannelCommand): void {
    this.log.push(command);
    this.known.add(command);
  }

  async process(records: number, kill?: Kill): Promise<void> {
    this.#kill = kill && { ...kill };
    try {
      if (!this.#task) {
        this.#task = await this.#open();
        this.#next = this.#task.from ?? 0;
      }
      const batch = this.log.slice(this.#next, this.#next + records);
      if (batch.length === 0) return;
      const from = this.#next;
      const end = await this.#task.process(
        batch.map((command, at) => {
          const value = channelCommandCodec.encode(command);
          const place = { topic, partition: this.number, offset: from + at };
          return { ...place, timestamp: 0, key: null, value, size: value.length };
        }),
      );
      this.#next = this.#committed = end ?? from;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      this.#task = undefined;
    } finally {
      this.#kill = undefined;
    }
  }

  /** The log loses its last records: what PostgreSQL has applied of them stays. */
  async goBack(records: number): Promise<void> {
    const { database } = migrated;
    const position = await readPosition(database, this.number);
    const starts = (await readEpochs(database, topic)).of(this.number);
    const first = Math.max(0, this.log.length - records);
    const unapplied = firstUnapplied(starts, position);
    const lost = this.log.splice(first);
    for (const [at, command] of lost.entries())
      if (first + at >= unapplied) this.known.delete(command);
    await database.query(
      `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason) VALUES ($1, $2, $3, $4, 'the log went back')`,
      [topic, this.number, starts.length + 1, first],
    );
    this.#task = undefined;
  }

  async finish(): Promise<void> {
    for (let time = 0; time < 3; time++) await this.process(this.log.length + 1);
  }

  /** A process whose statements fail from the one at which it is killed. */
  #open(): Promise<PartitionTask> {
    const controller = new AbortController();
    const statement = async <T>(execute: () => Promise<T>): Promise<T> => {
      controller.signal.throwIfAborted();
      const kill = this.#kill;
      const isLast = kill !== undefined && --kill.statement === 0;
      const answer = isLast && !kill.isExecuted ? undefined : await execute();
      if (!isLast) return answer as T;
      controller.abort(new Killed());
      throw new Killed();
    };
    return addressTask(
      {
        ...{ cluster: '', signal: controller.signal },
        log: createLog({ part: 'test', level: 'silent' }),
        metrics: { applied: () => undefined, unreadable: () => undefined },
        database: {
          query: (text: string, values?: unknown[]) =>
            statement(() => migrated.database.query(text, values)),
        } as typeof migrated.database,
        clickhouse: {
          insert: ({ values }) =>
            statement(() => {
              for (const row of values as unknown as Record<string, unknown>[]) this.#store(row);
              return Promise.resolve({ executed: true, query_id: '', response_headers: {} });
            }),
        },
      },
      { partition: this.number, committed: this.#committed },
    );
  }

  #store(row: Record<string, unknown>): void {
    const key = `${String(row['channel'])} ${String(row['address_id'])}`;
    const version = Number(row['version']);
    const known = this.clickhouse.get(key);
    const state = `${String(row['name'])} ${String(row['active'])}`;
    if (!known || known.version <= version) this.clickhouse.set(key, { version, state });
  }
}

async function storedStates(): Promise<Map<string, string>> {
  const { rows } = await migrated.database.query<Record<string, string>>(
    'SELECT channel, address_id, user_id, reason FROM channel_address_states WHERE account_id = $1',
    [account],
  );
  return new Map(
    rows.map((row) => [
      `${row['channel']} ${unescapeText(row['address_id'] ?? '')}`,
      `${unescapeText(row['user_id'] ?? '')}: ${row['reason']}`,
    ]),
  );
}

/** The changes of users' consents as they are chained; a broken chain throws. */
async function chainedConsents(): Promise<string[]> {
  const { rows } = await migrated.database.query<Record<string, string> & { hash: Buffer }>(
    'SELECT user_id, number, channel, state, source, received_at, gateway, sequence, hash FROM consent_log WHERE account_id = $1 ORDER BY user_id, number',
    [account],
  );
  for (const [user, own] of Map.groupBy(rows, (row) => row['user_id'] ?? '')) {
    const entries = own.map((row) => ({
      number: Number(row['number']),
      entry: {
        ...{ channel: row['channel'] ?? '', state: row['state'] ?? '', textVersion: '', ip: '' },
        ...{ source: row['source'] ?? '', userAgent: '', receivedAt: Number(row['received_at']) },
      },
      hash: Buffer.from(row.hash),
    }));
    const broken = brokenEntry({ accountId: account, userId: unescapeText(user) }, entries);
    if (broken !== undefined) throw new Error(`the chain of ${user} is broken at ${broken}`);
  }
  return rows.map((row) => `${row['gateway']} ${row['sequence']}`);
}

it('addresses are those of the model after kills at any statement, in any turns of partitions and when the log goes back', async () => {
  await fc.assert(
    fc.asyncProperty(commands, steps, async (sent, drawn) => {
      account++;
      for (const table of TABLES) await migrated.database.query(`DELETE FROM ${table}`);
      const clickhouse: ReadPartition['clickhouse'] = new Map();
      const read = Array.from({ length: PARTITIONS }, (_, at) => new ReadPartition(at, clickhouse));
      const waiting = sent.map((command) => ({ ...command, account_id: account }));
      const append = (count: number) => {
        for (const command of waiting.splice(0, count)) {
          const distinctId = command.user_id || command.anonymous_id || command.address_id;
          const place = { accountId: account, distinctId, partitions: PARTITIONS };
          read[partitionOf(place)]?.append(command);
        }
      };
      for (const step of drawn) {
        append(3);
        const partition = read[step.partition];
        if (step.kind === 'go_back') await partition?.goBack(step.records);
        else await partition?.process(step.records, step.kill);
      }
      append(waiting.length);
      for (const partition of read) await partition.finish();

      const book = new AddressBook();
      const known = sentOf(read);
      for (const command of known) book.apply(command);
      const all = book.all();
      const states = all.map(
        (one) => [`${one.channel} ${one.id}`, `${one.user_id}: ${one.reason}`] as const,
      );
      expect(await storedStates()).toEqual(new Map(states));
      expect(new Map([...clickhouse].map(([key, { state }]) => [key, state]))).toEqual(
        new Map(
          all.map((one) => [`${one.channel} ${one.id}`, `${one.user_id} ${String(one.active)}`]),
        ),
      );
      const chained = known.filter(({ consent }) => consent !== null);
      expect((await chainedConsents()).sort()).toEqual(
        chained.map(({ gateway, sequence }) => `${gateway} ${sequence}`).sort(),
      );
    }),
    { numRuns: drawnRuns(300) },
  );
}, 120_000);

function sentOf(read: readonly ReadPartition[]): ChannelCommand[] {
  return read.flatMap(({ known }) => [...known]);
}
