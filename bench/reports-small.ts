/**
 * node bench/reports-small.ts [--events 2000] [--people 200] [--runs 20] [--only TEXT]
 * [--check FILE]
 * Reports of a small account: CPU of ClickHouse for each kind, mostly analysis of the statement.
 * The account is generated into a database of its own, and the host's compilers and settings are
 * used, without the cache of reports. What ClickHouse does anyway is measured and taken off.
 * --check writes a hash of the rows of every report, to compare those of two versions.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createClient } from '@clickhouse/client';
import { parseLine } from '../cli/arguments.ts';
import { readReport } from '../account-api/reports/run.ts';
import { clickhouseCpu } from './reports/clickhouse-cpu.ts';
import { fill } from './reports/fill.ts';
import { smallQuestions } from './reports/small-questions.ts';
import { pidsOf } from './server-process.ts';
import { benchStack } from './stack.ts';
import { numberOf } from './numbers.ts';

const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench reports-small -- [--events N] [--people N] [--runs N] [--only TEXT] [--check FILE]',
  options: {
    events: { type: 'string', default: '2000' },
    people: { type: 'string', default: '200' },
    runs: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
    check: { type: 'string' },
  },
});
const DAY_S = 86_400;
const volume = {
  ...{
    events: numberOf(values, 'events'),
    people: numberOf(values, 'people'),
    days: 30,
    mergedOneIn: 10,
  },
  ...{ shape: 'even' as const, until: Math.floor(Date.now() / 1000 / DAY_S) * DAY_S },
};
const runs = numberOf(values, 'runs');

const [pid = 0] = await pidsOf(['clickhouse']);
const { clickhouse_url: url } = benchStack();
const server = createClient({ url });
const database = `bench_reports_small_${Date.now().toString(36)}`;
await server.command({ query: `CREATE DATABASE ${database}` });
const client = createClient({ url, database });

try {
  await fill(client, volume, () => undefined);
  const checked: Record<string, string> = {};
  console.log('| report | CPU ms | CPU ms, merged people | characters | levels |');
  console.log('| --- | --- | --- | --- | --- |');
  for (const { name, compile, few } of smallQuestions(volume)) {
    if (!name.includes(values.only)) continue;
    const cells: string[] = [];
    for (const merges of ['none', 'table'] as const) {
      const compiled = compile(merges);
      const signal = AbortSignal.timeout(60_000);
      const ask = () => readReport(client, { compiled, few, merges, signal });
      const { rows } = await ask();
      checked[`${name}, ${merges}`] = createHash('sha256')
        .update(JSON.stringify(rows))
        .digest('hex');
      await ask();
      const used = await clickhouseCpu(pid, async () => {
        for (let run = 0; run < runs; run++) await ask();
      });
      cells.push((used / runs).toFixed(1));
    }
    const { sql } = compile('none');
    const levels = sql.split('SELECT').length - 1;
    console.log(`| ${name} | ${cells.join(' | ')} | ${sql.length} | ${levels} |`);
  }
  if (values.check) writeFileSync(values.check, JSON.stringify(checked, null, 1));
} finally {
  await client.close();
  await server.command({ query: `DROP DATABASE ${database}` });
  await server.close();
}
