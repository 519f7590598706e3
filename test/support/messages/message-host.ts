import { niceOf } from '../../../deploy/local/services/nice.ts';
import { freePort, ServiceProcess } from '../service-process.ts';
import { testTimeout } from '../test-timeout.ts';
import { eventually } from '../stack.ts';
import { sealingKey } from '../webhooks/connection.ts';

export interface MessageReply {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

/**
 * A management host of a test's own, beside that of the stack: it may call receivers on this
 * machine, and no budget of requests ends a test.
 */
export class MessageHost {
  readonly #env: NodeJS.ProcessEnv;
  readonly #port: number;
  #process: ServiceProcess | undefined;

  private constructor(port: number, env: NodeJS.ProcessEnv) {
    this.#port = port;
    this.#env = env;
  }

  static async start(
    receiver: { port: number },
    env: NodeJS.ProcessEnv = {},
  ): Promise<MessageHost> {
    const host = new MessageHost(await freePort(), {
      OUTBOUND_ALLOW_HOSTS: `127.0.0.1:${receiver.port}`,
      SEALING_KEY: sealingKey(),
      PUBLIC_API_BUDGET_PER_MINUTE: '1000000000',
      MAX_REQUESTS_PER_ACCOUNT: '1000',
      ...env,
    });
    await host.#start();
    return host;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Where it serves its metrics. */
  async adminUrl(): Promise<string> {
    const logged = await this.#process?.untilLogged(/"admin":"([^"]+)"/);
    return `http://${logged?.[1] ?? ''}`;
  }

  /** One request to POST /v1/messages. Rejects when the host cannot be reached or hangs up. */
  async post(
    key: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<MessageReply> {
    const response = await fetch(`${this.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(testTimeout(40_000)),
    });
    const text = await response.text();
    const { status } = response;
    return { status, headers: response.headers, body: JSON.parse(text) as MessageReply['body'] };
  }

  /** Kills the process with kill -9 and starts it again. */
  async killAndStart(): Promise<void> {
    await this.#process?.end('SIGKILL');
    await this.#start();
  }

  async close(): Promise<void> {
    await this.#process?.end('SIGTERM');
  }

  async #start(): Promise<void> {
    this.#process = new ServiceProcess('management-api/main.ts', {
      env: { ...this.#env, PUBLIC_API_ADDR: `127.0.0.1:${this.#port}` },
      nice: niceOf('management-api'),
    });
    await eventually({ ms: 60_000, every: 50, waitingFor: 'the management host' }, async () =>
      (await fetch(`${this.url}/v1/status`)).ok ? true : undefined,
    );
  }
}
