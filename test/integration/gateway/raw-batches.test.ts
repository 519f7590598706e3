import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleEvent, sampleRecord, sampleBatch } from '../../../events/testing/raw-records.ts';
import type { ReconciliationCounts } from '../../../platform/meters/read-reconciliation.ts';
import { deadLetterCodec, rawRecordCodec } from '../../../schemas/codec.ts';
import { recordsInBatch } from '../../../schemas/raw-batch.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { connectTestProducer } from '../../support/producer.ts';
import { readWholeTopic, stackKafka, type Message } from '../../support/read-topic.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import {
  createAccount,
  eventually,
  ravand,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { watchTopic } from './raw-log.ts';

const REQUESTS = 400;
const PEOPLE = 20;

/** An event that was answered, and whose it is. */
interface Sent {
  account: TestAccount;
  id: string;
  person: string;
}

describe('requests at the same time', () => {
  const client = openClickhouse();
  const agent = new Agent({ keepAlive: true, maxSockets: 100 });
  const sent: Sent[] = [];
  let accounts: TestAccount[] = [];
  let messages: Message[] = [];

  const post = ({ account, id, person }: Sent): Promise<number> =>
    new Promise((resolve, reject) => {
      const to = request(
        `${readyStack().ingest_url}/v1/track`,
        { method: 'POST', agent, headers: { Authorization: `Bearer ${account.writeKey}` } },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
        },
      );
      to.on('error', reject);
      to.end(JSON.stringify({ event: 'x', user_id: person, message_id: id }));
    });

  beforeAll(async () => {
    accounts = [await createAccount('batches 1'), await createAccount('batches 2')];
    const appended = await watchTopic(TOPIC.raw);
    for (let number = 0; number < REQUESTS; number++) {
      const account = accounts[number % 2];
      if (account) sent.push({ account, id: randomUUID(), person: `p${number % PEOPLE}` });
    }
    expect(new Set(await Promise.all(sent.map(post)))).toEqual(new Set([200]));
    messages = await appended();
  }, 60_000);
  afterAll(() => {
    agent.destroy();
  });

  const batches = () => messages.flatMap((message) => recordsInBatch(message.value) ?? []);
  const booksOf = async ({ accountId }: TestAccount) => {
    const text = await ravand('status', '--json', '--account', String(accountId));
    return (JSON.parse(text) as { books: ReconciliationCounts }).books;
  };
  const stored = (account: TestAccount) =>
    rows<{ message_id: string; place: string }>(
      client,
      `SELECT message_id, concat(toString(_partition), '/', toString(_offset), '/', toString(_index)) AS place
       FROM events WHERE account_id = {account:UInt64}`,
      { account: account.accountId },
    );

  it('share records of Kafka, also those of several accounts', () => {
    const values = messages.map(({ value }) => recordsInBatch(value) ?? []);
    const mixed = values.filter(
      (batch) =>
        new Set(batch.map(({ value }) => rawRecordCodec.decode(value).account_id)).size > 1,
    );
    expect(mixed.length).toBeGreaterThan(0);
    expect(messages.length).toBeLessThan(REQUESTS);
  });

  it('become rows, each at the offset of its batch and its number in it', async () => {
    const places = new Map(
      messages.flatMap(({ partition, offset, value }) =>
        (recordsInBatch(value) ?? [{ firstIndex: 0, value }]).flatMap(
          ({ firstIndex, value: own }) =>
            rawRecordCodec
              .decode(own)
              .items.map(({ message_id }, at): [string, string] => [
                message_id,
                `${partition}/${offset}/${firstIndex + at}`,
              ]),
        ),
      ),
    );
    for (const account of accounts) {
      const own = sent.filter((one) => one.account === account).map(({ id }) => id);
      const found = await eventually({ ms: 60_000, waitingFor: 'the rows' }, async () => {
        const all = await stored(account);
        return all.length >= own.length ? all : undefined;
      });
      expect(found.map(({ message_id }) => message_id).toSorted()).toEqual(own.toSorted());
      for (const { message_id, place } of found) expect(place).toBe(places.get(message_id));
    }
  }, 90_000);

  it('are explained, counted, and found stored by a replay, one by one', async () => {
    const later = batches().findLast(({ firstIndex }) => firstIndex > 0);
    const record = later && rawRecordCodec.decode(later.value);
    const id = record?.items[0]?.message_id ?? '';
    const why = JSON.parse(
      await ravand('why', id, '--account', String(record?.account_id), '--json'),
    ) as { verdict: string; stations: { station: string; says: string }[] };
    expect(why.verdict).toBe('stored once');
    const [account] = accounts;
    if (!account) throw new Error('there is no account');
    const own = REQUESTS / 2;
    const books = await eventually({ ms: 60_000, waitingFor: 'the books' }, async () => {
      const found = await booksOf(account);
      return found.in_flight === 0 && found.stored === own ? found : undefined;
    });
    expect(books).toMatchObject({ received: own, published: own, dead: 0, duplicate: 0 });
    const { counts } = JSON.parse(
      await ravand(
        ...['replay', '--topic', TOPIC.raw, '--account', String(account.accountId)],
        ...['--dry-run', '--json'],
      ),
    ) as { counts: Record<string, number> };
    expect(counts).toMatchObject({ stored: own, new: 0 });
  }, 120_000);

  it('fail one by one: a record that cannot be read is dead, and the others of its batch are stored', async () => {
    const [account, other] = [await createAccount('batch'), await createAccount('batch, other')];
    const facts = { received_at: Date.now(), gateway: randomUUID() };
    const good = [randomUUID(), randomUUID()];
    const of = (who: TestAccount, ids: readonly string[], sequence: number) =>
      sampleRecord(
        ids.map((id) => sampleEvent(id)),
        { ...facts, account_id: who.accountId, sequence },
      );
    const broken = { ...of(account, [randomUUID(), randomUUID()], 10), body: Buffer.from('{') };
    const batch = sampleBatch([
      of(other, good.slice(0, 1), 0),
      broken,
      of(account, good.slice(1), 20),
    ]);
    const producer = await connectTestProducer(stackKafka());
    const offset = await producer.publish({
      topic: TOPIC.raw,
      partition: 0,
      key: null,
      value: batch,
    });
    await producer.close(5000);
    const deadLetter = await eventually({ ms: 60_000, waitingFor: 'the dead letter' }, async () =>
      (await readWholeTopic(TOPIC.dead))
        .map(({ value }) => deadLetterCodec.decode(value))
        .find((one) => one.topic === TOPIC.raw && one.partition === 0 && one.offset === offset),
    );
    expect(deadLetter).toMatchObject({
      ...{ reason: 'body_not_json', index: 1, indexes: [1, 2], events: 2 },
      account_id: account.accountId,
    });
    const [kept] = recordsInBatch(deadLetter.value) ?? [];
    expect(kept?.firstIndex).toBe(1);
    expect(kept && rawRecordCodec.decode(kept.value).sequence).toBe(10);
    for (const [who, expected] of [
      [account, { published: 3, stored: 1, dead: 2 }],
      [other, { published: 1, stored: 1, dead: 0 }],
    ] as const) {
      const books = await eventually({ ms: 60_000, waitingFor: 'the books' }, async () => {
        const found = await booksOf(who);
        return found.in_flight === 0 && found.stored === 1 && found.dead === expected.dead
          ? found
          : undefined;
      });
      expect(books).toMatchObject(expected);
    }
    const groups = JSON.parse(await ravand('dlq', 'list', '--json')) as {
      groups: { group: string; reason: string }[];
    };
    const group = groups.groups.find(({ reason }) => reason === 'body_not_json')?.group ?? '';
    // It fails again, and says so.
    expect(JSON.parse(await ravand('dlq', 'redrive', group, '--json'))).toMatchObject({
      unready: expect.anything() as unknown,
    });
    expect(
      JSON.parse(await ravand('dlq', 'discard', group, '--reason', 'a test', '--json')),
    ).toMatchObject({ events: 2 });
  }, 120_000);
});
