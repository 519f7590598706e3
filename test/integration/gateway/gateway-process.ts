import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, readyStack } from '../../support/stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

/** A gateway process of a test's own, with a spool of its own, beside the one of the stack. */
export class GatewayProcess {
  readonly #env: NodeJS.ProcessEnv;
  readonly spoolDir: string;
  #child: ChildProcess | undefined;
  url = '';
  adminUrl = '';
  log = '';

  private constructor(spoolDir: string, env: NodeJS.ProcessEnv) {
    this.spoolDir = spoolDir;
    this.#env = env;
  }

  static async create(env: NodeJS.ProcessEnv = {}): Promise<GatewayProcess> {
    return new GatewayProcess(await mkdtemp(join(tmpdir(), 'ravand-gateway-')), env);
  }

  /** Starts the process and waits until it answers. `env` goes over what create was given. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const ready = readyStack();
    const [port, adminPort] = await Promise.all([freePort(), freePort()]);
    this.url = `http://127.0.0.1:${port}`;
    this.adminUrl = `http://127.0.0.1:${adminPort}`;
    const child = spawn(process.execPath, [join(CHECKOUT, 'ingest-gateway', 'main.ts')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        KAFKA_BROKERS: ready.kafka_brokers,
        REDIS_URL: ready.redis_url,
        DATABASE_URL: ready.database_url,
        HTTP_ADDR: `127.0.0.1:${port}`,
        ADMIN_ADDR: `127.0.0.1:${adminPort}`,
        SPOOL_DIR: this.spoolDir,
        ...this.#env,
        ...env,
      },
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on(
        'data',
        (chunk: Buffer) => (this.log = `${this.log}${chunk.toString()}`.slice(-20_000)),
      );
    await eventually(
      { ms: 20_000, every: 50, waitingFor: `a gateway that answers; it said: ${this.log}` },
      async () => {
        if (child.exitCode !== null) throw new Error(`the gateway left: ${this.log}`);
        return (await fetch(`${this.url}/v1/status`)).ok ? true : undefined;
      },
    );
  }

  /** Ends the process and waits for its end; answers its exit code. */
  async kill(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return child.exitCode;
  }

  /** A number of the gateway's metrics; sums up the values of its labels. */
  async metric(name: string, labels = ''): Promise<number> {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    const lines = text
      .split('\n')
      .filter(
        (line) =>
          (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) && line.includes(labels),
      );
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  async phase(): Promise<string> {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    return /ravand_gateway_publisher_phase\{phase="(\w+)"\} 1/.exec(text)?.[1] ?? 'unknown';
  }

  async remove(): Promise<void> {
    await this.kill('SIGKILL');
    await rm(this.spoolDir, { recursive: true, force: true });
  }
}

export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
