import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { post } from '../../support/client.ts';
import {
  clickhouse,
  createAccount,
  eventually,
  FULL,
  killService,
  serviceStatus,
  ravand,
  readyStack,
  rows,
} from '../../support/stack.ts';
import { withRefusedEvent } from './faults.ts';

const EVENTS = 120;

// The sink finds refused rows by halving, and then waits a minute: too slow for the short form.
it.runIf(FULL)(
  'a sink whose table refuses most rows stops, reports it on /readyz and in a metric, and stores every row after the repair, without dead letters',
  async () => {
    const account = await createAccount('breaker of the sink');
    const event = `refused_${randomUUID().replaceAll('-', '')}`;
    const { ingest_url: url } = readyStack();
    // A new process remembers no healthy rows.
    await killService('events-sink');
    await eventually({ ms: 60_000, waitingFor: 'the sink to be up' }, async () =>
      (await serviceStatus('events-sink')).up ? true : undefined,
    );
    const before = await countDeadLetters();
    await withRefusedEvent(event, async () => {
      const batch = Array.from({ length: EVENTS }, () => ({
        type: 'track',
        event,
        user_id: 'u',
        message_id: randomUUID(),
      }));
      expect((await post(`${url}/v1/batch`, account.writeKey, { batch })).status).toBe(200);
      const { admin_url: admin } = await serviceStatus('events-sink');
      const ready = await eventually({ ms: 180_000, waitingFor: 'the sink to stop' }, async () => {
        const answer = await fetch(`${admin}/readyz`);
        return answer.status === 503 ? answer.text() : undefined;
      });
      expect(ready).toMatch(/would end as dead letters.*DEAD_LETTER_BREAKER=100/);
      expect(await (await fetch(`${admin}/metrics`)).text()).toContain(
        'ravand_sink_breaker_open 1',
      );
    });
    const client = clickhouse(readyStack());
    try {
      const stored = async () =>
        (
          await rows<{ n: number }>(
            client,
            'SELECT count() AS n FROM events WHERE account_id = {a:UInt64}',
            { a: account.accountId },
          )
        )[0]?.n;
      await eventually(
        { ms: 150_000, every: 1000, waitingFor: 'the rows that were held back' },
        async () => ((await stored()) === EVENTS ? true : undefined),
      );
    } finally {
      await client.close();
    }
    expect(await countDeadLetters()).toBe(before);
  },
  420_000,
);

async function countDeadLetters(): Promise<number> {
  const { groups } = JSON.parse(await ravand('dlq', 'list', '--json')) as {
    groups: { letters: number }[];
  };
  return groups.reduce((sum, { letters: count }) => sum + count, 0);
}
