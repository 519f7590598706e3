import type { ClickHouseClient } from '@clickhouse/client';
import { randomUUID } from 'node:crypto';
import { post } from '../client.ts';
import { eventually, readyStack, rows, type TestAccount } from '../stack.ts';

const BATCH = 500;

/**
 * People with an e-mail address and a phone number, identified by events and in the profiles;
 * answers their user ids.
 */
export async function identifyPeople(
  client: ClickHouseClient,
  { accountId, writeKey }: TestAccount,
  count: number,
): Promise<string[]> {
  const users = Array.from({ length: count }, (_, at) => `person-${at}`);
  for (let from = 0; from < count; from += BATCH) {
    const batch = users.slice(from, from + BATCH).map((userId, at) => identify(userId, from + at));
    const { status, body } = await post(`${readyStack().ingest_url}/v1/batch`, writeKey, { batch });
    if (status !== 200) throw new Error(`people were refused: ${status} ${JSON.stringify(body)}`);
  }
  await eventually({ ms: 120_000, every: 1000, waitingFor: 'the profiles' }, async () => {
    const [row] = await rows<{ people: number }>(
      client,
      'SELECT uniqExact(name) AS people FROM profiles WHERE account_id = {a:UInt64}',
      { a: accountId },
    );
    return row?.people === count ? true : undefined;
  });
  return users;
}

function identify(userId: string, at: number) {
  const phone = `+98912${String(at).padStart(7, '0')}`;
  const traits = { email: `${userId}@mail.example`, phone, first_name: 'نرگس', plan: 'gold' };
  return { type: 'identify', user_id: userId, message_id: randomUUID(), traits };
}
