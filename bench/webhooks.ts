import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ready } from '../cli/stack/ready.ts';
import { makeSealingKey, parseSealingKeys } from '../platform/sealing.ts';
import type { LoadResult } from './gateway/load.ts';
import { loadServer, median, pinParts, startServer, type Server } from './server-process.ts';
import { seedConnection } from './webhooks/seed.ts';

/**
 * Webhook intake beside a bare node:http server that computes the HMAC and parses, in the same run:
 * the server on one core, the load client on the other, where Kafka, Redis and PostgreSQL run too.
 * Each delivery is a signed order of its own. Rounds alternate between the two and the medians are
 * shown.
 */
const CONNECTIONS = 64;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const DURATION_MS = Number(process.env['BENCH_ROUND_MS'] ?? 4000);

const home = process.env['RAVAND_HOME'] ?? '.ravand';
const ready = JSON.parse(readFileSync(join(home, 'run', 'ready.json'), 'utf8')) as Ready;

interface Sample extends LoadResult {
  bytes: number;
  /** Of the server process, ms for each 1,000 deliveries. */
  cpu: number;
}

let run = Math.floor(Math.random() * 1000);

async function sample(
  server: Server,
  { token, secret }: { token: string; secret: string },
): Promise<Sample> {
  const args = [
    String(server.port),
    String(CONNECTIONS),
    String(DURATION_MS),
    token,
    secret,
    String(run++),
  ];
  const { printed, cpu } = await loadServer(server, 'bench/webhooks/load-process.ts', args);
  const result = JSON.parse(printed) as Omit<Sample, 'cpu'>;
  if (result.failures > 0)
    throw new Error(
      `${result.failures} of ${result.requests} deliveries failed: ${result.firstFailure}`,
    );
  return { ...result, cpu: cpu / (result.sent / 1000) };
}

const sealingKey = makeSealingKey('bench');
const sealer = parseSealingKeys(sealingKey);
if (!sealer) throw new Error('a fresh sealing key cannot be read');
const secret = randomBytes(24).toString('base64url');
const token = await seedConnection({ databaseUrl: ready.database_url, sealer, secret });
const spool = await mkdtemp(join(tmpdir(), 'ravand-bench-spool-'));
const bare = await startServer('bench/webhooks/bare-server.ts', {
  args: (port) => [String(port), secret],
});
const unpin = await pinParts(['kafka', 'redis', 'postgres']);
const gateway = await startServer('ingest-gateway/main.ts', {
  env: (port) => ({
    HTTP_ADDR: `127.0.0.1:${port}`,
    ADMIN_ADDR: '127.0.0.1:0',
    SPOOL_DIR: spool,
    KAFKA_BROKERS: ready.kafka_brokers,
    REDIS_URL: ready.redis_url,
    DATABASE_URL: ready.database_url,
    SEALING_KEY: sealingKey,
    LOG_LEVEL: 'warn',
  }),
});
try {
  const samples = { bare: [] as Sample[], gateway: [] as Sample[] };
  let bytes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    samples.bare.push(await sample(bare, { token, secret }));
    const own = await sample(gateway, { token, secret });
    samples.gateway.push(own);
    bytes = own.bytes;
  }
  const bareRate = median(samples.bare.map(({ requests, seconds }) => requests / seconds));
  console.log(
    '| deliveries | server | deliveries/s | of bare | CPU ms per 1,000 | p50 ms | p99 ms |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const [name, all] of Object.entries(samples)) {
    const rate = median(all.map(({ requests, seconds }) => requests / seconds));
    const [cpu, p50, p99] = [
      median(all.map((one) => one.cpu)),
      median(all.map((one) => one.p50)),
      median(all.map((one) => one.p99)),
    ];
    const title = `signed order (${bytes.toLocaleString('en')} B)`;
    console.log(
      `| ${title} | ${name} | ${Math.round(rate).toLocaleString('en')} | ${(rate / bareRate).toFixed(2)} | ${cpu.toFixed(0)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`,
    );
  }
} finally {
  await unpin();
  bare.child.kill();
  gateway.child.kill();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await rm(spool, { recursive: true, force: true });
}
