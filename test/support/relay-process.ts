import { metric, ServiceProcess } from './service-process.ts';
import { ravand } from './stack.ts';

/**
 * The service `relays` with a test's own settings. It replaces the stack's process: same group,
 * same instance id.
 */
export class RelayProcess {
  readonly #env: NodeJS.ProcessEnv;
  #process: ServiceProcess | undefined;
  #adminUrl = '';

  private constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  static async create(env: NodeJS.ProcessEnv): Promise<RelayProcess> {
    await ravand('stop', 'relays');
    const relays = new RelayProcess(env);
    await relays.#start();
    return relays;
  }

  /** Kills the process with kill -9 and starts it again. */
  async killAndStart(): Promise<void> {
    await this.#process?.end('SIGKILL');
    await this.#start();
  }

  metric(name: string, label = ''): Promise<number> {
    return metric(this.#adminUrl, name, label);
  }

  /** Ends the process and starts the stack's own again. */
  async close(): Promise<void> {
    await this.#process?.end('SIGTERM');
    await ravand('start', 'relays');
  }

  async #start(): Promise<void> {
    this.#process = new ServiceProcess('pipeline/relays/main.ts', {
      env: { KAFKA_INSTANCE_ID: 'relays', ...this.#env },
    });
    const [, host, port] = await this.#process.untilLogged(
      /"admin":\{"host":"([^"]+)","port":(\d+)\}/,
    );
    this.#adminUrl = `http://${host ?? ''}:${port ?? ''}`;
  }
}
