/**
 * node bench/fairness.ts [--only RESOURCE] [--seconds 20] [--rounds 2]
 *
 * What one account at its worst does to another: for each shared resource the latency of the
 * measured account's operations, undisturbed and while the hostile account attacks. The stack runs
 * on the same cores as the clients, so that ratio includes the attack's own use of the machine. For
 * the gateway, a second process that nobody attacks answers the same operations at the same time:
 * its latency is what the machine costs, and the ratio to it is what the gateway does.
 */
import { randomUUID } from 'node:crypto';
import { parseLine } from '../cli/arguments.ts';
import { createLog } from '../platform/log.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';
import { parseSealingKeys } from '../platform/sealing.ts';
import { GatewayProcess } from '../test/support/gateway-process.ts';
import { eventually } from '../test/support/stack.ts';
import { sealingKey } from '../test/support/webhooks/connection.ts';
import { intakeScenario } from './fairness/intake.ts';
import { exportsScenario, reportsScenario, schemaScenario } from './fairness/management.ts';
import { relaysScenario } from './fairness/relays.ts';
import { latencies, type Parties, type Scenario } from './fairness/scenario.ts';
import { createTenant } from './fairness/tenant.ts';
import { webhooksScenario } from './fairness/webhooks.ts';
import { percentile } from './load-client.ts';
import { benchStack } from './stack.ts';
import { numberOf } from './numbers.ts';

const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench fairness -- [--only RESOURCE] [--seconds N] [--rounds N]',
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '2' },
  },
});
const durationMs = numberOf(values, 'seconds') * 1000;
const rounds = numberOf(values, 'rounds');
const EVENTS = 20_000;
const BATCH = 500;

const { base_url: baseUrl, ingest_url: ingestUrl, database_url } = benchStack();
const database = connectPostgres({
  url: database_url,
  log: createLog({ part: 'bench', level: 'error' }),
  name: 'ravand-bench-fairness',
  max: 2,
});
const tenant = (name: string) => createTenant(database, { name: `fairness ${name}`, keys: 100 });
const key = sealingKey();
const referenceGateway = await GatewayProcess.create({ SEALING_KEY: key });
await referenceGateway.start();
await eventually({ ms: 60_000, waitingFor: 'the reference' }, async () =>
  (await referenceGateway.phase()) === 'direct' ? true : undefined,
);
const parties: Parties = {
  measured: await tenant('measured'),
  hostile: await tenant('hostile'),
  baseUrl,
  ingestUrl,
  referenceUrl: referenceGateway.url,
};
const sealer = parseSealingKeys(key);
if (!sealer) throw new Error('the stack has no sealing key');
const relays = () => relaysScenario({ parties, database, sealer, sealingKey: key });

const scenarios: Record<string, () => Scenario | Promise<Scenario>> = {
  intake: () => intakeScenario(parties),
  webhooks: () => webhooksScenario(parties),
  relays,
  reports: () => reportsScenario(parties),
  schema: () => schemaScenario(parties),
  exports: () => exportsScenario(parties),
};

await sendEvents(parties.measured.writeKey, EVENTS / 20);
await sendEvents(parties.hostile.writeKey, EVENTS);
await new Promise((resolve) => setTimeout(resolve, 5000));

console.log(
  '| shared resource | the other account | n | p50 ms alone / attacked / reference | p99 ms alone / attacked / reference | p99 attacked / alone | p99 attacked / reference | failed | attempts of the other |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- |');
try {
  for (const [name, make] of Object.entries(scenarios))
    if (values.only === undefined || values.only === name) await compare(await make());
} finally {
  await referenceGateway.remove();
  await database.end();
}
process.exit(0);

/** Rounds of each kind in turns, so that other work on the machine affects both. */
async function compare(scenario: Scenario): Promise<void> {
  const alone: number[] = [];
  const attacked: number[] = [];
  const reference: number[] = [];
  let [failed, attempts] = [0, 0];
  await measured(scenario, durationMs / 4);
  for (let round = 0; round < rounds; round++) {
    const undisturbed = await measured(scenario);
    const end = await scenario.begin();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const disturbed = await measured(scenario);
    attempts += await end();
    alone.push(...undisturbed.own.ms);
    attacked.push(...disturbed.own.ms);
    reference.push(...disturbed.reference.ms);
    failed += undisturbed.own.failed + disturbed.own.failed;
    // What the attack left behind is finished before the next round.
    await new Promise((resolve) => setTimeout(resolve, 5000));
  }
  await scenario.close?.();
  const all = [alone, attacked, ...(scenario.reference ? [reference] : [])];
  const row = (share: number) => all.map((ms) => percentile(ms, share).toFixed(0)).join(' / ');
  const p99 = percentile(attacked, 0.99);
  const cells = [
    scenario.resource,
    scenario.attack,
    alone.length + attacked.length,
    row(0.5),
    row(0.99),
    (p99 / percentile(alone, 0.99)).toFixed(1),
    scenario.reference ? (p99 / percentile(reference, 0.99)).toFixed(1) : '',
    failed,
    attempts,
  ];
  console.log(`| ${cells.join(' | ')} |`);
}

/** The operation and, in the same seconds, the one at the reference. */
async function measured({ operation, reference, rate }: Scenario, ms = durationMs) {
  const [own, other] = await Promise.all([
    latencies({ operation, rate }, ms),
    reference ? latencies({ operation: reference, rate }, ms) : { ms: [], failed: 0 },
  ]);
  return { own, reference: other };
}

/** Events of twelve names and 100 people, over the last 20 days. */
async function sendEvents(writeKey: string, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, at) => ({
      type: 'track',
      event: `step_${1 + ((sent + at) % 12)}`,
      user_id: `u${(sent + at) % 100}`,
      message_id: randomUUID(),
      timestamp: new Date(Date.now() - ((sent + at) % 20) * 86_400_000).toISOString(),
      properties: { category: 'books', price: at, note: 'a note of the bench '.repeat(5) },
    }));
    const response = await fetch(`${ingestUrl}/v1/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${writeKey}` },
      body: JSON.stringify({ batch }),
    });
    if (!response.ok) throw new Error(`the gateway answered ${response.status}`);
    await response.arrayBuffer();
  }
}
