import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually, ravand, readyStack } from './stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');

/**
 * The part `relays` with settings of the test's own, in place of the one of the stack: the same
 * group and the same instance name. Started again after every kill, as the supervisor does it.
 */
export class RelayProcess {
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #adminUrl = '';
  #log = '';

  private constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  static async create(env: NodeJS.ProcessEnv): Promise<RelayProcess> {
    await ravand('stop', 'relays');
    const made = new RelayProcess(env);
    await made.start();
    return made;
  }

  async start(): Promise<void> {
    const ready = readyStack();
    const child = spawn(process.execPath, [join(CHECKOUT, 'pipeline', 'relays', 'main.ts')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        KAFKA_BROKERS: ready.kafka_brokers,
        DATABASE_URL: ready.database_url,
        ADMIN_ADDR: '127.0.0.1:0',
        KAFKA_INSTANCE_ID: 'relays',
        ...this.#env,
      },
    });
    this.#child = child;
    this.#log = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on(
        'data',
        (chunk: Buffer) => (this.#log = `${this.#log}${chunk.toString()}`.slice(-50_000)),
      );
    await eventually({ ms: 30_000, every: 50, waitingFor: 'relays to run' }, () => {
      if (child.exitCode !== null) throw new Error(`relays left: ${this.#log}`);
      const [, host = '', port = ''] =
        /"admin":\{"host":"([^"]+)","port":(\d+)\}/.exec(this.#log) ?? [];
      this.#adminUrl = `http://${host}:${port}`;
      return Promise.resolve(port === '' ? undefined : true);
    });
  }

  /** Ends it with kill -9 and starts it again. */
  async killAndStart(): Promise<void> {
    await this.#end('SIGKILL');
    await this.start();
  }

  /** A number of its metrics, summed up over the labels that match. */
  async metric(name: string, label = ''): Promise<number> {
    const text = await (await fetch(`${this.#adminUrl}/metrics`)).text();
    const lines = text
      .split('\n')
      .filter(
        (line) =>
          (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) && line.includes(label),
      );
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  get log(): string {
    return this.#log;
  }

  /** Ends it and gives the stack its own part back. */
  async close(): Promise<void> {
    await this.#end('SIGTERM');
    await ravand('start', 'relays');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
}
