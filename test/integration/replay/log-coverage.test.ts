import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { sampleEvent, sampleRecord } from '../../../events/testing/raw-records.ts';
import { requireAgreedLog } from '../../../ops/log/agreed-log.ts';
import { logGaps } from '../../../ops/rebuild/log-coverage.ts';
import { readRows } from '../../../ops/rebuild/read-rows.ts';
import type { Connections } from '../../../ops/jobs/connections.ts';
import { storedRows } from '../../../ops/replay/stored-rows.ts';
import { openVerdicts } from '../../../ops/replay/verdicts.ts';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../../pipeline/metering/testing/books-database.ts';
import { SeenKeys } from '../../../pipeline/replay/seen-keys.ts';
import { kafkajsConnection } from '../../../platform/kafka/connection.ts';
import { FIRST_RECORD } from '../../../platform/log/decisive.ts';
import { LogProbe } from '../../../platform/kafka/log-probe.ts';
import type { LogProducer } from '../../../platform/kafka/producer.ts';
import { readTopicNamesFrom } from '../../../platform/kafka/topic-names.ts';
import { createLog } from '../../../platform/log.ts';
import { writeEvidence } from '../../../platform/log/evidence-store.ts';
import { rawRecordCodec, verdictRecordCodec } from '../../../schemas/codec.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { stackKafka } from '../../support/read-topic.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { connectTestProducer } from '../../support/producer.ts';

const DAY = 86_400_000;
const WINDOW = 48 * 3_600_000;
const RECORDS = 8;
/** The head of the log that retention has deleted. */
const CUT = 3;

const settings = { ...stackKafka(), DEDUPE_TTL: WINDOW };
const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'test')).admin();
const clickhouse = openClickhouse();
const signal = AbortSignal.timeout(120_000);
const created: string[] = [];
let producer: LogProducer | undefined;
let postgres: BooksDatabase;
let connections: Connections;

beforeAll(async () => {
  await admin.connect();
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
  const log = createLog({ part: 'test', level: 'fatal' });
  const { database } = postgres;
  connections = { settings, admin, clickhouse, database, log } as unknown as Connections;
}, 120_000);
afterAll(async () => {
  await admin.deleteTopics({ topics: created });
  await Promise.all([producer?.close(5000), admin.disconnect(), postgres.close()]);
});

/** Topics that only this test uses take the places of events.raw and events.verdicts. */
beforeEach(async () => {
  await useNewTopics();
  await postgres.database.query('TRUNCATE log_epochs, log_evidence');
  for (let at = 0; at < RECORDS; at++) await publish(`m-${at}`);
}, 60_000);

async function useNewTopics(): Promise<void> {
  const id = randomUUID().slice(0, 8);
  const topics = { [TOPIC.raw]: `raw-${id}`, [TOPIC.verdicts]: `verdicts-${id}` };
  const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
  await admin.createTopics({
    waitForLeaders: true,
    topics: Object.values(topics).map((topic) => ({ topic, numPartitions: 1, configEntries })),
  });
  created.push(...Object.values(topics));
  readTopicNamesFrom(() => Promise.resolve({ topics, former: {} }));
  await producer?.close(5000);
  producer = await connectTestProducer(settings);
}

async function publish(messageId: string): Promise<void> {
  const record = sampleRecord([sampleEvent(messageId, { user_id: 'u' })]);
  await producer?.publish({
    ...{ topic: TOPIC.raw, partition: 0, key: null, value: rawRecordCodec.encode(record) },
  });
}

/** The verdict on the record at `offset`, as the normaliser writes it. */
async function decide(offset: number, verdict: 'duplicate' | 'dead'): Promise<void> {
  const verdicts = [{ offset, index: 0, account_id: 1, received_at: Date.now(), verdict }];
  const value = verdictRecordCodec.encode({ partition: 0, verdicts });
  await producer?.publish({ topic: TOPIC.verdicts, partition: 0, key: null, value });
}

const cut = (topic: string, offset: number) =>
  admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] });
const physical = (kind: 'raw' | 'verdicts') =>
  created.findLast((name) => name.startsWith(kind)) ?? '';
const gaps = (keeps: number | undefined, now = Date.now()) =>
  logGaps({ connections, topic: TOPIC.raw, keeps, now, signal });
const coveredFrom = async () => {
  const verdicts = await openVerdicts(connections, {
    partition: 0,
    appendedAt: Date.now() - DAY,
    signal,
  });
  await verdicts.log.close();
  return verdicts.coveredFrom;
};

/** Offsets of the rows that a rebuild reads from `start` on. */
async function rebuilt(start: number, seen: SeenKeys): Promise<number[]> {
  const { high } = (await admin.fetchTopicOffsets(physical('raw')))[0] ?? { high: '0' };
  const next = Number(high);
  const batches = readRows({
    ...{ connections, source: 'raw', from: new Map(), starts: new Map([[0, start]]) },
    until: new Map([[0, { place: { offset: next - 1, index: 1000 }, next }]]),
    live: storedRows({ client: clickhouse, cluster: '', table: 'events', window: WINDOW }),
    ...{ seen, generationOf: () => 0, signal },
  });
  const offsets: number[] = [];
  for await (const { rows } of batches) offsets.push(...rows.map(({ _offset }) => _offset));
  return offsets;
}

it('a rebuild begins at the first record that is left, and says what is missing', async () => {
  expect(await gaps(undefined)).toEqual([]);
  await cut(physical('raw'), CUT);
  const [all, ...more] = await gaps(undefined);
  expect(more).toEqual([]);
  expect(all).toMatch(/^events\.raw 0 begins at offset 3, of 20.*computed from all events$/);
  expect(await gaps(400)).toEqual([expect.stringContaining('the table keeps 400 days')]);
  // Older than everything that the table keeps.
  expect(await gaps(400, Date.now() + 401 * DAY)).toEqual([]);
  const seen = new SeenKeys({ window: WINDOW, keys: 1000 });
  expect(await rebuilt(CUT, seen)).toEqual([3, 4, 5, 6, 7]);
});

it('verdicts decide about duplicates as far back as they are kept; before that the keys of the pass do', async () => {
  await publish('m-1');
  await publish('m-6');
  await decide(8, 'duplicate');
  await decide(9, 'duplicate');
  const seen = () => new SeenKeys({ window: WINDOW, keys: 1000 });
  expect(await coveredFrom()).toBe(0);
  expect(await rebuilt(0, seen())).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  await cut(physical('verdicts'), 1);
  expect(await coveredFrom()).toBe(10);
  expect(await rebuilt(0, seen())).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

it('verdicts of a recreated topic, which begins at offset 0 too, do not count as complete', async () => {
  await decide(7, 'dead');
  await postgres.database.query(
    `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason) VALUES ($1, 0, 1, 0, 'the log went back')`,
    [TOPIC.verdicts],
  );
  expect(await coveredFrom()).toBe(8);
});

it('a recreated topic is refused, although it begins at offset 0', async () => {
  const probe = new LogProbe(settings);
  try {
    const of = { topic: TOPIC.raw, partition: 0 };
    const evidence = await probe.evidenceAt(of, 0);
    if (!evidence) throw new Error('the log holds no first record');
    await writeEvidence(postgres.database, FIRST_RECORD, [{ ...of, ...evidence }]);
  } finally {
    await probe.close();
  }
  await requireAgreedLog(connections, [TOPIC.raw]);
  await useNewTopics();
  for (let at = 0; at < RECORDS; at++) await publish(`other-${at}`);
  await expect(requireAgreedLog(connections, [TOPIC.raw])).rejects.toThrow(
    'its first record is another one than before (the topic was recreated)',
  );
});
