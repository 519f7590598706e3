import { niceOf } from '../../../deploy/local/services/nice.ts';
import { heapOptions } from '../../../deploy/local/services/node-service.ts';
import { ServiceProcess } from '../service-process.ts';
import { trackingKeys } from '../channels.ts';
import { ravand, readyStack } from '../stack.ts';
import { sealingKey } from '../webhooks/connection.ts';

/**
 * Dispatchers of a test's own, instead of the stack's; they may call receivers on this machine. One
 * that ends by itself is started again, as a supervisor does.
 */
export class DispatcherProcesses {
  readonly #env: NodeJS.ProcessEnv;
  readonly #processes: ServiceProcess[] = [];

  private constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  static async start(
    count: number,
    { ports, env = {} }: { ports: readonly number[]; env?: NodeJS.ProcessEnv },
  ): Promise<DispatcherProcesses> {
    await ravand('stop', 'dispatcher');
    const dispatchers = new DispatcherProcesses({
      OUTBOUND_ALLOW_HOSTS: ports.map((port) => `127.0.0.1:${port}`).join(','),
      SEALING_KEY: sealingKey(),
      TRACKING_KEYS: trackingKeys(),
      EMAIL_TRACK_BASE: readyStack().ingest_url,
      ...env,
    });
    for (let at = 0; at < count; at++) await dispatchers.#start(at);
    return dispatchers;
  }

  /** Kills one with kill -9 and starts it again. */
  async killAndStart(at: number): Promise<void> {
    await this.#processes[at]?.end('SIGKILL');
    await this.#start(at);
  }

  get pids(): number[] {
    return this.#processes.map(({ pid }) => pid);
  }

  /** The end of all logs. */
  get logs(): string {
    return this.#processes.map(({ log }) => log).join('\n');
  }

  /** Ends them and starts the stack's own again. */
  async close(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.end('SIGTERM')));
    await ravand('start', 'dispatcher');
  }

  async #start(at: number): Promise<void> {
    const instance = `dispatcher-test-${at}`;
    const { NODE_OPTIONS = '' } = this.#env;
    const options = [...heapOptions('dispatcher'), NODE_OPTIONS].join(' ').trim();
    const started = new ServiceProcess('pipeline/dispatcher/main.ts', {
      env: { ...this.#env, KAFKA_INSTANCE_ID: instance, NODE_OPTIONS: options },
      nice: niceOf('dispatcher'),
    });
    this.#processes[at] = started;
    started.onCrash(() => {
      console.log(`dispatcher ${at} ended by itself: ${started.log.slice(-2000)}`);
      this.#start(at).catch((error: unknown) => console.log(error));
    });
    await started.untilLogged(/"admin":/);
  }
}
