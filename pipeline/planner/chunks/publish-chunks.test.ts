import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writerHold, type WriterHold } from '../../../ingest/writer-hold.ts';
import { physicalTopic } from '../../../platform/kafka/topic-names.ts';
import { createLog } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { chunkPublisher } from './publish-chunks.ts';

let postgres: MigratedDatabase;
let hold: WriterHold;

beforeAll(async () => {
  postgres = await migratedDatabase(['0024', '0025', '0029', '0045']);
  await query('INSERT INTO log_layout (partitions, created) VALUES (4, 4)');
  const log = createLog({ part: 'test', level: 'silent' });
  hold = writerHold({ database: postgres.database as Database, log, service: 'planner' });
}, 60_000);
afterAll(async () => {
  await hold.close();
  await postgres.close();
});

const query = async (text: string) =>
  (await postgres.database.query<Record<string, unknown>>(text)).rows;
const phaseIs = (phase: string) =>
  expect
    .poll(() => query('SELECT service, phase FROM gateway_instances'), { timeout: 20_000 })
    .toEqual([{ service: 'planner', phase }]);
const chunk = (number: number) => ({
  ...{ account_id: 1, campaign_id: 5, run_id: 7, chunk: number, planned_at: 5, first_key: 'a' },
  recipients: [{ key: 'a', person_id: 'p', user_id: 'p', is_control: false }],
});

describe('chunks while the layout of the log changes', () => {
  it('wait, and go to the topic that replaced the former one; those before are acknowledged first', async () => {
    const published: string[] = [];
    const acknowledged = Promise.withResolvers<number>();
    let written = 0;
    const publish = chunkPublisher({
      producer: {
        publish: ({ topic, partition }) => {
          published.push(`${physicalTopic(topic)} ${partition}`);
          return acknowledged.promise;
        },
      },
      ...{ hold, topic: TOPIC.messagesPlanned, partitions: 4 },
      written: (recipients) => (written += recipients),
    });
    await phaseIs('passing');
    const first = publish(chunk(0));
    await expect.poll(() => published).toEqual(['messages.planned 3']);
    await query("UPDATE log_layout SET phase = 'holding'");
    await phaseIs('draining');
    const second = publish(chunk(1));
    acknowledged.resolve(1);
    await first;
    await phaseIs('held');
    expect(published).toHaveLength(1);
    await query(
      `UPDATE log_layout SET phase = 'steady', generation = 2, topics = '{"messages.planned": "messages.planned-2"}'`,
    );
    await second;
    expect(published).toEqual(['messages.planned 3', 'messages.planned-2 0']);
    expect(written).toBe(2);
  }, 60_000);

  it('fail when that takes long: their slice is written again', async () => {
    await phaseIs('passing');
    await query("UPDATE log_layout SET phase = 'holding'");
    await phaseIs('held');
    const publish = chunkPublisher({
      producer: { publish: () => Promise.reject(new Error('published')) },
      ...{ hold, topic: TOPIC.messagesPlanned, partitions: 4, written: () => undefined },
    });
    await expect(publish(chunk(0))).rejects.toThrow('the layout of the log changes');
  }, 60_000);
});
