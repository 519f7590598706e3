import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Ready } from '../../cli/stack/ready.ts';
import { ownBrokerEnv, shardsEnv } from '../../cli/stack/stack-plan.ts';
import { SERVER_USER, SERVICES_USER, urlOfUser } from '../../deploy/local/server-passwords.ts';
import { choosePort, isPortFree } from '../../deploy/local/ports.ts';
import { setNice } from '../../deploy/local/services/nice.ts';
import { firstServer } from '../../platform/split-hosts.ts';
import { endWithTest } from './end-with-test.ts';
import { Aborted, eventually, readyStack } from './stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
const LOG_CHARACTERS = 50_000;

/** Settings that connect a client to the Kafka of the stack. */
export function kafkaEnvironment(ready: Ready): Record<string, string> {
  const isPlain = ready.kafka_login === undefined && ready.kafka_ca_file === undefined;
  return { KAFKA_BROKERS: ready.kafka_brokers, ...(isPlain ? {} : ownBrokerEnv(ready)) };
}

/** Settings that connect a service to the servers of the stack. */
export function serverSettings(ready: Ready): NodeJS.ProcessEnv {
  return {
    ...kafkaEnvironment(ready),
    CLICKHOUSE_URL: ready.clickhouse_url,
    CLICKHOUSE_DATABASE: ready.clickhouse_database,
    ...shardsEnv(ready),
    DATABASE_URL: ready.database_url,
    REDIS_URL: ready.redis_url,
  };
}

/** With the user that the stack gives its services, which has rights on its database only. */
function clickhouseUrl({ clickhouse_url: url }: Ready, env: NodeJS.ProcessEnv = {}): string {
  const isOwn =
    firstServer(url).username === SERVER_USER && env['CLICKHOUSE_DATABASE'] === undefined;
  return isOwn ? urlOfUser(url, SERVICES_USER) : url;
}

/**
 * One process of a service with a test's own settings, connected to the stack under test. With
 * KAFKA_INSTANCE_ID of the stack's own process it replaces that member of the group; with an empty
 * one it joins as a second member.
 */
export class ServiceProcess {
  readonly #script: string;
  readonly #child: ChildProcess;
  /** It has ended, and all of its output is in `log`. */
  #isClosed = false;
  #wasEnded = false;
  /** The end of its output. */
  log = '';

  /**
   * @param options.preload path of a module that is imported before the service
   * @param options.checkout the release to run; this one when absent
   * @param options.nice as the local stack starts it (deploy/local/services/nice.ts)
   */
  constructor(
    script: string,
    options: { env?: NodeJS.ProcessEnv; preload?: string; checkout?: string; nice?: number } = {},
  ) {
    this.#script = script;
    const preload = options.preload === undefined ? [] : ['--import', options.preload];
    const child = spawn(
      process.execPath,
      [...preload, join(options.checkout ?? CHECKOUT, script)],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          ...serverSettings(readyStack()),
          CLICKHOUSE_URL: clickhouseUrl(readyStack(), options.env),
          ADMIN_ADDR: '127.0.0.1:0',
          ...options.env,
        },
      },
    );
    endWithTest(child);
    if (child.pid !== undefined) setNice(child.pid, options.nice);
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        this.log = `${this.log}${chunk.toString()}`.slice(-LOG_CHARACTERS);
      });
    child.once('close', () => {
      this.#isClosed = true;
    });
    this.#child = child;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  /** Probes until there is an answer. Rejects when the process ends or after 60 s. */
  async until<T>(what: string, probe: () => T | undefined | Promise<T | undefined>): Promise<T> {
    return eventually(
      { ms: 60_000, every: 50, waitingFor: `${this.#script} ${what}` },
      async () => {
        if (!this.#isRunning) throw new Aborted(`${this.#script} ended: ${this.log}`);
        return probe();
      },
    );
  }

  /** Waits until a line of its log matches; answers the match. */
  untilLogged(line: RegExp): Promise<RegExpExecArray> {
    // It may end with this line: its output is complete later than its end.
    const waitingFor = `${this.#script} to log ${line.source}`;
    return eventually({ ms: 60_000, every: 50, waitingFor }, () => {
      const isComplete = this.#isClosed;
      const match = line.exec(this.log);
      if (!match && isComplete) throw new Aborted(`${this.#script} ended: ${this.log}`);
      return Promise.resolve(match ?? undefined);
    });
  }

  /** Waits until it has partitions of a topic. */
  async untilAssigned(topic: string): Promise<void> {
    await this.until(`to have partitions of ${topic}`, () =>
      this.log
        .split('\n')
        .some((line) => line.includes(`"topic":"${topic}"`) && line.includes('partitions assigned'))
        ? true
        : undefined,
    );
  }

  /** Sends the signal and waits for the end of the process; answers its exit code. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    this.#wasEnded = true;
    if (this.#isRunning) {
      const ended = once(this.#child, 'exit');
      this.#child.kill(signal);
      await ended;
    }
    return this.#child.exitCode;
  }

  /** Calls back when the process ends by itself. */
  onCrash(crashed: () => void): void {
    this.#child.once('exit', () => {
      if (!this.#wasEnded) crashed();
    });
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }
}

/** One metric of a service, summed over the series whose labels include `label`. */
export async function metric(adminUrl: string, name: string, label = ''): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .filter((line) => line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

/** A port of loopback on which nothing listens, and which no outgoing connection is given. */
export const freePort = (): Promise<number> =>
  choosePort({
    preferred: [],
    isFree: (port) => isPortFree('127.0.0.1', port),
    random: Math.random,
  });
