import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ready } from '../cli/stack/ready.ts';
import { seedAccount } from './account.ts';
import { requestTemplates, type RequestTemplate } from './gateway/bodies.ts';
import type { LoadResult } from './gateway/load.ts';
import { loadServer, median, pinParts, startServer, type Server } from './server-process.ts';

/**
 * The ingest gateway beside a bare node:http server that reads and parses the same bodies, in the
 * same run: the server on one core, the load client on the other, where Kafka and Redis run too.
 * Rounds alternate between the two and the medians are shown, because other work on the machine
 * comes and goes.
 */
const CONNECTIONS: Record<string, number> = { 'single events': 512 };
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const DURATION_MS = Number(process.env['BENCH_ROUND_MS'] ?? 4000);
/** Only requests whose name contains this. */
const ONLY = process.env['BENCH_REQUESTS'] ?? '';

const home = process.env['RAVAND_HOME'] ?? '.ravand';
const ready = JSON.parse(readFileSync(join(home, 'run', 'ready.json'), 'utf8')) as Ready;

interface Sample {
  /** Events a second. */
  rate: number;
  /** Of the server process, ms for each 1,000 events. */
  cpu: number;
  p50: number;
  p99: number;
  failures: number;
}

let run = Math.floor(Math.random() * 1000);

async function sample(
  server: Server,
  options: { template: RequestTemplate; index: number; writeKey: string },
): Promise<Sample> {
  const connections = CONNECTIONS[options.template.name] ?? 64;
  const args = [
    String(server.port),
    String(options.index),
    String(connections),
    String(DURATION_MS),
    options.writeKey,
    String(run++),
  ];
  const { printed, cpu } = await loadServer(server, 'bench/gateway/load-process.ts', args);
  const result = JSON.parse(printed) as LoadResult;
  if (result.failures > 0)
    throw new Error(
      `${result.failures} of ${result.requests} requests failed: ${result.firstFailure}`,
    );
  return {
    rate: (result.requests * options.template.events) / result.seconds,
    cpu: cpu / ((result.sent * options.template.events) / 1000),
    p50: result.p50,
    p99: result.p99,
    failures: result.failures,
  };
}

const { writeKey } = await seedAccount(
  ready.database_url,
  `bench ${randomBytes(4).toString('hex')}`,
);
const spool = await mkdtemp(join(tmpdir(), 'ravand-bench-spool-'));
const bare = await startServer('bench/gateway/bare-server.ts', { args: (port) => [String(port)] });
const unpin = await pinParts(['kafka', 'redis', 'postgres']);
const gateway = await startServer('ingest-gateway/main.ts', {
  env: (port) => ({
    HTTP_ADDR: `127.0.0.1:${port}`,
    ADMIN_ADDR: '127.0.0.1:0',
    SPOOL_DIR: spool,
    KAFKA_BROKERS: ready.kafka_brokers,
    REDIS_URL: ready.redis_url,
    DATABASE_URL: ready.database_url,
    LOG_LEVEL: 'warn',
  }),
});
try {
  const number = (value: number) => Math.round(value).toLocaleString('en');
  console.log(
    '| requests | server | events/s | of bare | CPU ms per 1,000 events | p50 ms | p99 ms |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const [index, template] of requestTemplates(writeKey).entries()) {
    if (!template.name.includes(ONLY)) continue;
    const samples = { bare: [] as Sample[], gateway: [] as Sample[] };
    for (let round = 0; round < ROUNDS; round++) {
      samples.bare.push(await sample(bare, { template, index, writeKey }));
      samples.gateway.push(await sample(gateway, { template, index, writeKey }));
    }
    const bareRate = median(samples.bare.map(({ rate }) => rate));
    for (const [name, all] of Object.entries(samples)) {
      const rate = median(all.map((one) => one.rate));
      const [cpu, p50, p99] = [
        median(all.map((one) => one.cpu)),
        median(all.map((one) => one.p50)),
        median(all.map((one) => one.p99)),
      ];
      const title = `${template.name} (${number(template.bodyBytes)} B)`;
      console.log(
        `| ${title} | ${name} | ${number(rate)} | ${(rate / bareRate).toFixed(2)} | ${cpu.toFixed(1)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`,
      );
    }
  }
} finally {
  await unpin();
  bare.child.kill();
  gateway.child.kill();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await rm(spool, { recursive: true, force: true });
}
