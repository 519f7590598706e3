/**
 * node bench/reports-again.ts [--events 2000] [--people 200] [--times 20] [--only TEXT]
 * Reports asked again with nothing new in their range, over HTTP, one after the other: the first
 * answer, those after it, and how many of them were kept ones. Trends and paths, which only the
 * panel asks for, take the same way. Two accounts are filled through the
 * gateway, one of them with merges of people; each kind of report has a key of its own, because the
 * budget is per key. The CPU of ClickHouse includes what the first of the repeated requests finds
 * out about parts that were merged meanwhile.
 */
import { randomUUID } from 'node:crypto';
import { parseLine } from '../cli/arguments.ts';
import { createLog } from '../platform/log.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';
import { metric } from '../test/support/service-process.ts';
import { clickhouse, eventually, rows, serviceStatus } from '../test/support/stack.ts';
import { createTenant } from './fairness/tenant.ts';
import { percentile } from './load-client.ts';
import { clickhouseCpu } from './reports/clickhouse-cpu.ts';
import { pidsOf } from './server-process.ts';
import { benchStack } from './stack.ts';
import { numberOf } from './numbers.ts';

const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench reports-again -- [--events N] [--people N] [--times N] [--only TEXT]',
  options: {
    events: { type: 'string', default: '2000' },
    people: { type: 'string', default: '200' },
    times: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
  },
});
const [events, people, times] = [
  numberOf(values, 'events'),
  numberOf(values, 'people'),
  numberOf(values, 'times'),
];
const DAY = 86_400_000;
const DAYS = 30;
const BATCH = 100;
const STEPS = 6;
/** Merges of parts that an insert caused have ended after so long, ms. */
const MERGES_END_MS = 5000;

const day = (ago: number) => new Date(Date.now() - ago * DAY).toISOString().slice(0, 10);
const range = { from: day(DAYS), to: day(1) };
const [first, second, ...others] = Array.from({ length: STEPS }, (_, at) => ({
  event: `step_${at + 1}`,
}));
const steps = [first, second, ...others.slice(0, 2)];
const QUESTIONS: readonly { name: string; path: string; body: object }[] = [
  { name: 'funnel', path: '/v1/reports/funnel', body: { ...range, steps } },
  {
    ...{ name: 'funnel, breakdown', path: '/v1/reports/funnel' },
    body: { ...range, steps, breakdown: { property: 'category' } },
  },
  {
    ...{ name: 'funnel, of a trait', path: '/v1/reports/funnel' },
    body: { ...range, steps, filters: [{ trait: 'plan', op: 'is_set' }] },
  },
  {
    ...{ name: 'retention', path: '/v1/reports/retention' },
    body: { ...range, start: first, return: second, period: 'day', periods: 14 },
  },
  {
    ...{ name: 'retention, breakdown', path: '/v1/reports/retention' },
    body: {
      ...{ ...range, start: first, return: second, period: 'week', periods: 4 },
      breakdown: { property: 'category' },
    },
  },
  {
    ...{ name: 'audience', path: '/v1/audiences/count' },
    body: {
      all: [
        { ...first, did: true, within_days: 20 },
        { ...second, did: false, within_days: 25 },
      ],
    },
  },
];

const ready = benchStack();
const database = connectPostgres({
  ...{ url: ready.database_url, name: 'ravand-bench', max: 1 },
  log: createLog({ part: 'bench', level: 'error' }),
});
const client = clickhouse(ready);
const [pid = 0] = await pidsOf(['clickhouse']);
const { admin_url } = await serviceStatus('management-api');

async function send(writeKey: string, items: readonly object[]): Promise<void> {
  for (let from = 0; from < items.length; from += BATCH) {
    const answer = await fetch(`${ready.ingest_url}/v1/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${writeKey}` },
      body: JSON.stringify({ batch: items.slice(from, from + BATCH) }),
    });
    if (answer.status !== 200) throw new Error(`the gateway answered ${await answer.text()}`);
  }
}

/** An account whose events are stored; `merges`: each tenth person has a second distinct id. */
async function fillAccount({ merges }: { merges: boolean }) {
  const name = `reports again ${randomUUID()}`;
  const tenant = await createTenant(database, { name, keys: QUESTIONS.length });
  const { accountId, writeKey } = tenant;
  const items = Array.from({ length: events }, (_, n) => ({
    ...{ type: 'track', message_id: `${name} ${n}`, user_id: `user-${n % people}` },
    event: `step_${(Math.floor(n / people) % STEPS) + 1}`,
    timestamp: new Date(
      Date.now() - DAY - ((events - n) / events) * (DAYS - 2) * DAY,
    ).toISOString(),
    properties: { category: ['audio', 'video', 'book'][n % 3] },
  }));
  const merged = Array.from({ length: merges ? people / 10 : 0 }, (_, n) => ({
    ...{ type: 'alias', message_id: `${name} merge ${n}` },
    ...{ user_id: `user-${n}`, previous_id: `device-${n}` },
  }));
  await send(writeKey, [...items, ...merged]);
  await eventually({ ms: 60_000, waitingFor: 'the events and merges to be stored' }, async () => {
    const [stored] = await rows<{ events: number; merges: number }>(
      client,
      `SELECT (SELECT count() FROM events WHERE account_id = ${accountId} AND event LIKE 'step%') AS events,
        (SELECT count() FROM identities_flat FINAL WHERE account_id = ${accountId} AND name != canonical) AS merges`,
    );
    return (stored?.events === events && stored.merges >= merged.length) || undefined;
  });
  return tenant;
}

async function ask({ path, body }: { path: string; body: object }, key: string): Promise<number> {
  const began = performance.now();
  const answer = await fetch(ready.base_url + path, {
    method: 'POST',
    headers: { 'x-service-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text}`);
  return performance.now() - began;
}

const kept = () => metric(admin_url ?? '', 'ravand_reports_total', 'answer="kept"');
const ms = (time: number) => Number(time.toFixed(1));

try {
  const results: object[] = [];
  for (const merges of [false, true]) {
    const { managementKeys } = await fillAccount({ merges });
    await new Promise((resolve) => setTimeout(resolve, MERGES_END_MS));
    for (const [at, question] of QUESTIONS.entries()) {
      if (!question.name.includes(values.only)) continue;
      const key = managementKeys[at] ?? '';
      const firstMs = await ask(question, key);
      const keptBefore = await kept();
      const took: number[] = [];
      const cpu = await clickhouseCpu(pid, async () => {
        for (let n = 0; n < times; n++) took.push(await ask(question, key));
      });
      results.push({
        report: question.name + (merges ? ', merged people' : ''),
        ...{ 'first ms': ms(firstMs), 'p50 ms': ms(percentile(took, 0.5)) },
        ...{ 'p95 ms': ms(percentile(took, 0.95)), 'least ms': ms(Math.min(...took)) },
        ...{ 'CPU ms': ms(cpu / times), kept: `${(await kept()) - keptBefore} of ${times}` },
      });
    }
  }
  console.table(results);
} finally {
  await Promise.all([client.close(), database.end()]);
}
