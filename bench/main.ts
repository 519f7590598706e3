import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Ready } from '../cli/stack/ready.ts';

/**
 * The measurements, in the order in which they run; each is a script of its own that prints its
 * table.
 */
const BENCHES: Readonly<Record<string, string>> = {
  events: 'the event core beside bare JSON.parse',
  claims: 'message-id claims: bytes and CPU',
  gateway: 'single events and batches beside a bare node:http server',
  normaliser: 'raw records to rows',
  sink: 'rows into ClickHouse beside a plain client',
  reports:
    'funnels, retention, audiences and schema over 100 million generated events (several minutes)',
  profiles: 'the fold of a million people: new, in memory, and cold in ClickHouse',
  webhooks: 'signed deliveries beside a bare server that computes the HMAC and parses',
  relays: 'deliveries to an endpoint beside a bare client loop',
  rebuild: 'events and profiles from the log into tables beside the live ones',
  'end-to-end': 'everything at once: sustained rate, time until a row is visible',
};

/** Runs only when it is asked for by name: it takes long, and tens of gigabytes of disk. */
const ONLY_BY_NAME = new Set(['reports']);

interface BenchContext {
  home: string;
  env: NodeJS.ProcessEnv;
  ready: Ready | undefined;
}

/**
 * `./ravand bench [NAME…] [-- ARGUMENTS]`: measures one after the other on this machine; the stack
 * must run. Answers 1 when one of them failed.
 */
export async function run(args: string[], context: BenchContext): Promise<number> {
  const split = args.indexOf('--');
  const names = split < 0 ? args : args.slice(0, split);
  const rest = split < 0 ? [] : args.slice(split + 1);
  const unknown = names.find((name) => !(name in BENCHES));
  if (unknown !== undefined) {
    process.stderr.write(
      `unknown bench ${unknown}; there are\n${Object.entries(BENCHES)
        .map(([name, what]) => `  ${name.padEnd(12)} ${what}`)
        .join('\n')}\n`,
    );
    return 2;
  }
  if (context.ready === undefined) {
    process.stderr.write('no stack is running here: start it with ./ravand up\n');
    return 1;
  }
  let failed = 0;
  for (const name of names.length > 0
    ? names
    : Object.keys(BENCHES).filter((one) => !ONLY_BY_NAME.has(one))) {
    const script = join(import.meta.dirname, `${name}.ts`);
    if (!existsSync(script)) continue;
    process.stdout.write(`\n## ${name}: ${BENCHES[name] ?? ''}\n\n`);
    failed += (await runScript(script, rest, environment(context, context.ready))) === 0 ? 0 : 1;
  }
  return failed === 0 ? 0 : 1;
}

/**
 * Some scripts find the stack through its folder, others through the settings that services have.
 */
function environment({ env, home }: BenchContext, ready: Ready): NodeJS.ProcessEnv {
  const {
    kafka_brokers: KAFKA_BROKERS,
    clickhouse_url: CLICKHOUSE_URL,
    redis_url: REDIS_URL,
    database_url: DATABASE_URL,
  } = ready;
  return { ...env, RAVAND_HOME: home, KAFKA_BROKERS, CLICKHOUSE_URL, REDIS_URL, DATABASE_URL };
}

async function runScript(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const child = spawn(
    process.execPath,
    ['--expose-gc', '--disable-warning=TimeoutNegativeWarning', script, ...args],
    { stdio: 'inherit', env },
  );
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
