import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadResult } from './gateway/load.ts';
import { loadServer, pinServices, startServer, type Server } from './server-process.ts';
import { benchStack } from './stack.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
/** Duration of one round, ms. */
export const ROUND_MS = Number(process.env['BENCH_ROUND_MS'] ?? 4000);

/** One round on one server, or the medians of all rounds. */
export interface Sample {
  /** Requests per second. */
  rate: number;
  /** CPU time of the server process per 1,000 requests, ms. */
  cpu: number;
  /** ms */
  p50: number;
  /** ms */
  p99: number;
}

export interface Servers {
  bare: Server;
  gateway: Server;
}

/**
 * Starts the ingest gateway and a bare node:http server on one core, beside Kafka, Redis,
 * PostgreSQL and the load client on the other.
 */
export async function withServers(
  options: { bare: string; bareArgs?: string[]; env?: NodeJS.ProcessEnv },
  work: (servers: Servers) => Promise<void>,
): Promise<void> {
  const stack = benchStack();
  const spool = await mkdtemp(join(tmpdir(), 'ravand-bench-spool-'));
  const bare = await startServer(options.bare, {
    args: (port) => [String(port), ...(options.bareArgs ?? [])],
  });
  const unpin = await pinServices(['kafka', 'redis', 'postgres']);
  const gateway = await startServer('ingest-gateway/main.ts', {
    env: (port) => ({
      HTTP_ADDR: `127.0.0.1:${port}`,
      ADMIN_ADDR: '127.0.0.1:0',
      SPOOL_DIR: spool,
      KAFKA_BROKERS: stack.kafka_brokers,
      REDIS_URL: stack.redis_url,
      DATABASE_URL: stack.database_url,
      LOG_LEVEL: 'warn',
      ...options.env,
    }),
  });
  try {
    await work({ bare, gateway });
  } finally {
    await unpin();
    bare.child.kill();
    gateway.child.kill();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await rm(spool, { recursive: true, force: true });
  }
}

let run = Math.floor(Math.random() * 1000);

/**
 * Medians of both servers. Rounds alternate between the two, so that other work on the machine
 * affects both.
 * @param load the script of the load client, and its arguments for a port and a run number
 */
export async function compareServers(
  { bare, gateway }: Servers,
  load: { script: string; args: (port: number, run: number) => string[] },
): Promise<Record<keyof Servers, Sample>> {
  const sample = async (server: Server): Promise<Sample> => {
    const args = load.args(server.port, run++);
    const { printed, cpu } = await loadServer(server, load.script, args);
    const result = JSON.parse(printed) as LoadResult;
    if (result.failures > 0)
      throw new Error(
        `${result.failures} of ${result.requests} requests failed: ${result.firstFailure}`,
      );
    return {
      rate: result.requests / result.seconds,
      cpu: cpu / (result.sent / 1000),
      p50: result.p50,
      p99: result.p99,
    };
  };
  const samples = { bare: [] as Sample[], gateway: [] as Sample[] };
  for (let round = 0; round < ROUNDS; round++) {
    samples.bare.push(await sample(bare));
    samples.gateway.push(await sample(gateway));
  }
  return { bare: medians(samples.bare), gateway: medians(samples.gateway) };
}

function medians(samples: readonly Sample[]): Sample {
  const of = (figure: keyof Sample) => median(samples.map((sample) => sample[figure]));
  return { rate: of('rate'), cpu: of('cpu'), p50: of('p50'), p99: of('p99') };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
