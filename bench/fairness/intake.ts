import { randomUUID } from 'node:crypto';
import { startAttack } from '../../test/support/hostile-attack.ts';
import type { Parties, Scenario } from './scenario.ts';

/** Intake: a single event beside the client of test/guarantees/hostile.test.ts. */
export function intakeScenario(parties: Parties): Scenario {
  const { ingestUrl, referenceUrl, measured, hostile } = parties;
  const track = async (url: string) => {
    const event = { event: 'fair', user_id: 'u', message_id: randomUUID() };
    const response = await fetch(`${url}/v1/track`, {
      method: 'POST',
      headers: { authorization: `Bearer ${measured.writeKey}` },
      body: JSON.stringify(event),
    });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`the gateway answered ${response.status}`);
  };
  return {
    resource: 'intake',
    attack: 'worst heads, gzip and JSON bombs, 500 people with a large context, unknown keys',
    rate: 50,
    operation: () => track(ingestUrl),
    reference: () => track(referenceUrl),
    begin: async () => {
      const attack = await startAttack(ingestUrl, hostile.writeKey);
      return async () => {
        const { answers } = await attack.stop();
        return Object.values(answers)
          .flatMap((statuses) => Object.values(statuses))
          .reduce((sum, count) => sum + count, 0);
      };
    },
  };
}
