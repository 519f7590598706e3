import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseLine } from '../cli/arguments.ts';
import { CommandError, type CommandContext } from '../cli/command.ts';
import type { Ready } from '../cli/stack/ready.ts';
import { print } from '../cli/terminal.ts';

/** All benchmarks in the order in which they run. Each is a script that prints a table. */
const BENCHES: Readonly<Record<string, string>> = {
  events: 'the event core, beside plain JSON.parse',
  claims: 'message-id claims: bytes and CPU',
  gateway: 'single events and batches, beside a bare node:http server',
  latency: 'single events at 2,000 a second, with the whole stack running',
  normaliser: 'raw records to rows',
  sink: 'rows into ClickHouse, beside a plain client',
  reports:
    'funnels, retention, audiences and schema over 100 million generated events (several minutes)',
  'reports-small': 'CPU of ClickHouse for each kind of report of a small account',
  'reports-again': 'reports asked again with nothing new, over HTTP: latency and CPU of ClickHouse',
  profiles: 'profiles of a million people: new, cached, and cold in ClickHouse',
  'cold-profiles':
    'loads of profiles among one million and among fifty million people (minutes, 25 GB of disk)',
  webhooks: 'signed deliveries, beside a bare server that computes the HMAC and parses',
  channels: 'registrations and on-site campaigns beside single events, on one core',
  lookups: 'addresses and consents of people in a real PostgreSQL, at 1,000 a second',
  onsite: 'on-site campaigns for a page: targeting in memory, on one core',
  relays: 'deliveries to an endpoint, beside a bare client loop',
  push: 'messages to FCM, APNs and browsers over HTTP/2, beside a bare node:http2 loop',
  smtp: 'mails to a server that accepts each at once, beside nodemailer',
  transactional: 'POST /v1/messages at 500 a second beside a receiver that answers in 5 ms',
  messages: 'chunks to outcomes over HTTP/2 and SMTP, beside bare loops to the same receivers',
  campaign: 'a campaign to a million people by e-mail, beside 2,000 events/s (several minutes)',
  planner: 'ten million people frozen and written in chunks',
  sdk: 'calls of the SDKs for Node and browsers: time and bytes',
  'sdk-comparison': 'SDKs for browsers: sizes, and events lost while tabs die and requests fail',
  rebuild: 'events and profiles from the log into shadow tables',
  fairness:
    'the p99 of one account, alone and beside another account at its worst, by shared resource',
  growth:
    'CPU per event with ten times the people, accounts, stored events and partitions (minutes)',
  'end-to-end': 'the whole path: sustained rate, time until a row is visible',
};

/** Run only by name: they take long and need much disk, or a server of their own. */
const ONLY_BY_NAME = new Set([
  'reports',
  'lookups',
  'campaign',
  'cold-profiles',
  'growth',
  'sdk-comparison',
]);

/**
 * `./ravand bench [NAME…] [-- OPTIONS]`: runs one after the other on this machine, with the options
 * for each. The stack must run. Returns 1 when one of them failed.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const split = args.indexOf('--');
  const { words: names } = parseLine({
    args: split < 0 ? args : args.slice(0, split),
    options: {},
    usage: 'bench [NAME…] [-- OPTIONS]',
    words: { min: 0, max: Number.POSITIVE_INFINITY },
  });
  const options = split < 0 ? [] : args.slice(split + 1);
  const unknown = names.find((name) => !(name in BENCHES));
  if (unknown !== undefined) {
    const known = Object.entries(BENCHES).map(([name, what]) => `  ${name.padEnd(14)} ${what}`);
    throw new CommandError(`unknown benchmark ${unknown}; choose from\n${known.join('\n')}`, 2);
  }
  const ready = context.ready();
  if (ready === undefined)
    throw new CommandError('no stack is running: start one with ./ravand up');
  let failed = 0;
  for (const name of names.length > 0
    ? names
    : Object.keys(BENCHES).filter((one) => !ONLY_BY_NAME.has(one))) {
    print(`\n## ${name}: ${BENCHES[name] ?? ''}\n`);
    const script = join(import.meta.dirname, `${name}.ts`);
    failed += (await runScript(script, options, environment(context, ready))) === 0 ? 0 : 1;
  }
  return failed === 0 ? 0 : 1;
}

/** Some scripts find the stack by RAVAND_HOME, others by the settings of services. */
function environment({ env, home }: CommandContext, ready: Ready): NodeJS.ProcessEnv {
  const {
    kafka_brokers: KAFKA_BROKERS,
    clickhouse_url: CLICKHOUSE_URL,
    redis_url: REDIS_URL,
    database_url: DATABASE_URL,
  } = ready;
  return { ...env, RAVAND_HOME: home.dir, KAFKA_BROKERS, CLICKHOUSE_URL, REDIS_URL, DATABASE_URL };
}

async function runScript(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const runner = join(import.meta.dirname, 'bench-process.ts');
  const child = spawn(process.execPath, ['--expose-gc', runner, script, ...args], {
    stdio: 'inherit',
    env,
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
