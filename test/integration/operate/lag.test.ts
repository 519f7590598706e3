import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { CONSUMER_GROUPS } from '../../../schemas/topology.ts';
import { post } from '../../support/client.ts';
import { createAccount, eventually, ravand, readyStack } from '../../support/stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

interface Group {
  topic: string;
  group: string;
  records: number;
  behind_seconds: number | null;
  catch_up_seconds: number | null;
}

async function lag(): Promise<Group[]> {
  return (JSON.parse(await ravand('lag', '--json')) as { groups: Group[] }).groups;
}

it('lag lists every consumer group, and shows a stopped one until it has caught up', async () => {
  const account = await createAccount('lag');
  const known = (await lag()).map(({ group, topic }) => `${group} ${topic}`);
  expect(known).toEqual(
    expect.arrayContaining(CONSUMER_GROUPS.map(({ group, topic }) => `${group} ${topic}`)),
  );
  const normaliser = async () => (await lag()).find(({ group }) => group === 'normaliser');
  await eventually({ ms: 30_000, waitingFor: 'the normaliser to be at the end' }, async () =>
    (await normaliser())?.records === 0 ? true : undefined,
  );
  await ravand('stop', 'normaliser');
  try {
    for (let n = 0; n < 3; n++)
      await post(`${readyStack().ingest_url}/v1/track`, account.writeKey, {
        event: 'x',
        user_id: 'u',
      });
    const behind = await normaliser();
    expect(behind).toMatchObject({ records: 3, catch_up_seconds: null });
    expect(behind?.behind_seconds).toBeGreaterThan(0);
    expect(await ravand('lag')).toContain('not reading');
  } finally {
    await ravand('start', 'normaliser');
  }
  await eventually({ ms: 60_000, waitingFor: 'the normaliser to catch up' }, async () =>
    (await normaliser())?.records === 0 ? true : undefined,
  );
});

it('lag reports an unreachable broker instead of waiting for it', async () => {
  const env = {
    ...process.env,
    RAVAND_HOME: join(CHECKOUT, '.ravand/none'),
    KAFKA_BROKERS: '127.0.0.1:1',
  };
  const failed: unknown = await promisify(execFile)(join(CHECKOUT, 'ravand'), ['lag'], {
    env,
    timeout: 60_000,
  }).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no Kafka broker answers at 127.0.0.1:1') as string,
  });
});
