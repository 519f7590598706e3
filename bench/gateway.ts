import { randomBytes } from 'node:crypto';
import { seedAccount } from './account.ts';
import { compareServers, ROUND_MS, withServers } from './gateway-comparison.ts';
import { requestTemplates } from './gateway/bodies.ts';
import { benchStack } from './stack.ts';

/**
 * The ingest gateway beside a bare node:http server that reads and parses the same bodies, in the
 * same run. Settings: BENCH_ROUNDS, BENCH_ROUND_MS, and BENCH_REQUESTS to select requests whose
 * name contains it.
 */
const CONNECTIONS: Record<string, number> = { 'single events': 512 };
const ONLY = process.env['BENCH_REQUESTS'] ?? '';

const { writeKey } = await seedAccount(
  benchStack().database_url,
  `bench ${randomBytes(4).toString('hex')}`,
);
await withServers({ bare: 'bench/gateway/bare-server.ts' }, async (servers) => {
  const number = (value: number) => Math.round(value).toLocaleString('en');
  console.log(
    '| requests | server | events/s | of bare | CPU ms per 1,000 events | p50 ms | p99 ms |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const [index, template] of requestTemplates(writeKey).entries()) {
    if (!template.name.includes(ONLY)) continue;
    const connections = String(CONNECTIONS[template.name] ?? 64);
    const medians = await compareServers(servers, {
      script: 'bench/gateway/load-process.ts',
      args: (port, run) => [
        ...[String(port), String(index), connections, String(ROUND_MS), writeKey, String(run)],
      ],
    });
    const title = `${template.name} (${number(template.bodyBytes)} B)`;
    for (const [name, { rate, cpu, p50, p99 }] of Object.entries(medians))
      console.log(
        `| ${title} | ${name} | ${number(rate * template.events)} | ${(rate / medians.bare.rate).toFixed(2)} | ${(cpu / template.events).toFixed(1)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`,
      );
  }
});
