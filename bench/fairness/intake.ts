import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { HostileReport } from '../../test/support/hostile-client.ts';
import type { Parties, Scenario } from './scenario.ts';

const CLIENT = join(import.meta.dirname, '../../test/support/hostile-client.ts');

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
      const env = { HOSTILE: JSON.stringify({ url: ingestUrl, key: hostile.writeKey }) };
      const child = spawn(process.execPath, [CLIENT], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, ...env },
      });
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
      await once(child.stdout, 'data');
      return async () => {
        const ended = once(child, 'close');
        child.kill('SIGTERM');
        await ended;
        const { answers } = JSON.parse(text.slice(text.indexOf('{'))) as HostileReport;
        return Object.values(answers)
          .flatMap((statuses) => Object.values(statuses))
          .reduce((sum, count) => sum + count, 0);
      };
    },
  };
}
