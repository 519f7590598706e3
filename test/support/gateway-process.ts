import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, metric, ServiceProcess } from './service-process.ts';

/** A gateway with a spool of its own, beside the gateway of the stack. */
export class GatewayProcess {
  readonly #env: NodeJS.ProcessEnv;
  readonly spoolDir: string;
  #process: ServiceProcess | undefined;
  url = '';
  adminUrl = '';

  private constructor(spoolDir: string, env: NodeJS.ProcessEnv) {
    this.spoolDir = spoolDir;
    this.#env = env;
  }

  static async create(env: NodeJS.ProcessEnv = {}): Promise<GatewayProcess> {
    return new GatewayProcess(await mkdtemp(join(tmpdir(), 'ravand-gateway-')), env);
  }

  /** Starts the process and waits until it answers. `env` overrides the settings of create. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const [port, adminPort] = await Promise.all([freePort(), freePort()]);
    this.url = `http://127.0.0.1:${port}`;
    this.adminUrl = `http://127.0.0.1:${adminPort}`;
    this.#process = new ServiceProcess('ingest-gateway/main.ts', {
      env: {
        HTTP_ADDR: `127.0.0.1:${port}`,
        ADMIN_ADDR: `127.0.0.1:${adminPort}`,
        SPOOL_DIR: this.spoolDir,
        ...this.#env,
        ...env,
      },
    });
    await this.#process.until('answers', async () =>
      (await fetch(`${this.url}/v1/status`)).ok ? true : undefined,
    );
  }

  /** Ends the process; answers its exit code. */
  async kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    return (await this.#process?.end(signal)) ?? null;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** The end of the output of the last process. */
  get log(): string {
    return this.#process?.log ?? '';
  }

  metric(name: string, label = ''): Promise<number> {
    return metric(this.adminUrl, name, label);
  }

  /** The phase of the publisher. */
  async phase(): Promise<string> {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    return /ravand_gateway_publisher_phase\{phase="(\w+)"\} 1/.exec(text)?.[1] ?? 'unknown';
  }

  async remove(): Promise<void> {
    await this.kill('SIGKILL');
    await rm(this.spoolDir, { recursive: true, force: true });
  }
}
