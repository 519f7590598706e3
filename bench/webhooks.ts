import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Ready } from '../deploy/local/ready.ts';
import { makeSealingKey, parseSealingKeys } from '../platform/sealing.ts';
import type { LoadResult } from './gateway/load.ts';
import { seedConnection } from './webhooks/seed.ts';

/**
 * Webhook intake beside a bare node:http server that computes the HMAC and parses, in the same run: the server on one core, the load client on the other, where Kafka, Redis
 * and PostgreSQL run too. Each delivery is a signed order of its own. Rounds alternate between the two and the medians are shown.
 */
const CONNECTIONS = 64;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const DURATION_MS = Number(process.env['BENCH_ROUND_MS'] ?? 4000);
const SERVER_CORE = '0';
const LOAD_CORE = '1';

const execute = promisify(execFile);
const home = process.env['RAVAND_HOME'] ?? '.ravand';
const ready = JSON.parse(readFileSync(join(home, 'run', 'ready.json'), 'utf8')) as Ready;

interface Server {
  port: number;
  child: ChildProcess;
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

async function startServer(script: string, options: { args: (port: number) => string[]; env: (port: number) => NodeJS.ProcessEnv }): Promise<Server> {
  const port = await freePort();
  const child = spawn('taskset', ['-c', SERVER_CORE, process.execPath, join(import.meta.dirname, '..', script), ...options.args(port)], {
    env: { ...process.env, ...options.env(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (let waited = 0; waited < 15_000; waited += 100) {
    const isUp = await fetch(`http://127.0.0.1:${port}/v1/status`, { method: 'POST', body: '{}' }).then(
      () => true,
      () => false,
    );
    if (isUp) return { port, child };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill();
  throw new Error(`${script} does not answer on port ${port}`);
}

/** CPU time of a process, ms. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

interface Sample extends LoadResult {
  bytes: number;
  /** Of the server process, ms for each 1,000 deliveries. */
  cpu: number;
}

let run = Math.floor(Math.random() * 1000);

async function sample({ port, child }: Server, { token, secret }: { token: string; secret: string }): Promise<Sample> {
  const args = [String(port), String(CONNECTIONS), String(DURATION_MS), token, secret, String(run++)];
  const script = join(import.meta.dirname, 'webhooks', 'load-process.ts');
  const { pid } = child;
  if (pid === undefined) throw new Error('the server has no process');
  const before = cpuOf(pid);
  const { stdout } = await execute('taskset', ['-c', LOAD_CORE, process.execPath, script, ...args]);
  const result = JSON.parse(stdout) as Omit<Sample, 'cpu'>;
  if (result.failures > 0) throw new Error(`${result.failures} of ${result.requests} deliveries failed: ${result.firstFailure}`);
  return { ...result, cpu: (cpuOf(pid) - before) / (result.sent / 1000) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

const sealingKey = makeSealingKey('bench');
const sealer = parseSealingKeys(sealingKey);
if (!sealer) throw new Error('a fresh sealing key cannot be read');
const secret = randomBytes(24).toString('base64url');
const token = await seedConnection({ databaseUrl: ready.database_url, sealer, secret });
const spool = await mkdtemp(join(tmpdir(), 'ravand-bench-spool-'));
const bare = await startServer('bench/webhooks/bare-server.ts', { args: (port) => [String(port), secret], env: () => ({}) });
const gateway = await startServer('ingest-gateway/main.ts', {
  args: () => [],
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
  console.log('| deliveries | server | deliveries/s | of bare | CPU ms per 1,000 | p50 ms | p99 ms |');
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const [name, all] of Object.entries(samples)) {
    const rate = median(all.map(({ requests, seconds }) => requests / seconds));
    const [cpu, p50, p99] = [median(all.map((one) => one.cpu)), median(all.map((one) => one.p50)), median(all.map((one) => one.p99))];
    const title = `signed order (${bytes.toLocaleString('en')} B)`;
    console.log(
      `| ${title} | ${name} | ${Math.round(rate).toLocaleString('en')} | ${(rate / bareRate).toFixed(2)} | ${cpu.toFixed(0)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`,
    );
  }
} finally {
  bare.child.kill();
  gateway.child.kill();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await rm(spool, { recursive: true, force: true });
}
