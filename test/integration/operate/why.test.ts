import { randomBytes, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { post } from '../../support/client.ts';
import { createAccount, eventually, ravand, readyStack } from '../../support/stack.ts';

interface Answer {
  account_id: number;
  verdict: string;
  stations: { station: string; state: string; says: string }[];
}

async function why(messageId: string, accountId?: number): Promise<Answer> {
  const account = accountId === undefined ? [] : ['--account', String(accountId)];
  return JSON.parse(await ravand('why', messageId, ...account, '--json')) as Answer;
}

function says(answer: Answer, station: string): string {
  const found = answer.stations.find((one) => one.station === station);
  return `${found?.state ?? 'no station'}: ${found?.says ?? ''}`;
}

it('why explains a stored event from the gateway to its profile, an event in flight, and one that was never sent', async () => {
  const account = await createAccount('why');
  const url = readyStack().ingest_url;
  const id = randomUUID();
  const merging = randomUUID();
  const traceId = randomBytes(16).toString('hex');
  await post(
    `${url}/v1/track`,
    account.writeKey,
    { event: 'paid', user_id: 'customer-1', message_id: id },
    { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
  );
  await post(`${url}/v1/batch`, account.writeKey, {
    batch: [
      { type: 'alias', previous_id: 'customer-1', user_id: 'customer-2', message_id: merging },
    ],
  });
  const stored = await eventually(
    { ms: 30_000, every: 1000, waitingFor: 'the event to be stored, folded in and joined' },
    async () => {
      const answer = await why(id, account.accountId);
      // each projection reads the log by itself
      const isStored = answer.verdict === 'stored once';
      const isFolded = says(answer, 'profile').startsWith('done');
      return isStored && isFolded && says(answer, 'identity').includes('customer-2')
        ? answer
        : undefined;
    },
  );
  const traced = JSON.parse(await ravand('why', '--trace', traceId, '--json')) as object;
  expect(traced).toMatchObject({ events: [{ message_id: id, account_id: account.accountId }] });
  expect(await why(id)).toMatchObject({
    account_id: account.accountId,
    verdict: 'stored once',
  });
  for (const station of ['gateway', 'raw log', 'dedupe', 'normaliser', 'row'])
    expect(says(stored, station)).toMatch(/^done/);
  // Regression: the answer about the alias itself was "not merged with another distinct id".
  expect(says(await why(merging, account.accountId), 'identity')).toBe(
    'done: it merges customer-1 into customer-2: both belong to customer-2',
  );

  const waiting = randomUUID();
  await ravand('stop', 'normaliser');
  try {
    await post(`${url}/v1/track`, account.writeKey, {
      event: 'paid',
      user_id: 'customer-1',
      message_id: waiting,
    });
    const answer = await why(waiting, account.accountId);
    expect(answer.verdict).toBe('accepted and under way: it is not stored yet');
    expect(says(answer, 'normaliser')).toMatch(/^waiting: not processed yet: 1 records/);
    // No row and no claim say whose it is: the log does.
    expect(await why(waiting)).toMatchObject({
      account_id: account.accountId,
      verdict: answer.verdict,
    });
  } finally {
    await ravand('start', 'normaliser');
  }
  await eventually({ ms: 30_000, every: 1000, waitingFor: 'the row' }, async () =>
    (await why(waiting, account.accountId)).verdict === 'stored once' ? true : undefined,
  );

  expect((await why(randomUUID(), account.accountId)).verdict).toContain('no trace of');
  expect((await why(id, 999_999)).verdict).toBe('there is no account 999999');
  await expect(why(randomUUID())).rejects.toThrow('no account has an event with the message id');

  const other = await createAccount('why, too');
  await post(`${url}/v1/track`, other.writeKey, {
    ...{ event: 'paid', user_id: 'customer-1', message_id: id },
  });
  const accounts = `2 accounts have an event with the message id ${id}: ${account.accountId}, ${other.accountId}`;
  await eventually({ ms: 30_000, every: 1000, waitingFor: 'the second account' }, async () =>
    why(id).then(
      () => undefined,
      (error: unknown) => (String(error).includes(accounts) ? true : undefined),
    ),
  );
});
