import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICES } from '../../schemas/topology.ts';
import { freePort, ServiceProcess } from './service-process.ts';
import { Aborted, eventually } from './stack.ts';

/** A process that starts beside a whole stack, ms. */
const START = 120_000;

/** Processes of another release beside those of the stack, with the same servers. */
export class ReleaseProcesses {
  readonly #checkout: string;
  readonly #running = new Map<string, ServiceProcess>();
  readonly #spool = mkdtempSync(join(tmpdir(), 'ravand-release-spool-'));
  /** Of its gateway. */
  url = '';

  constructor(checkout: string) {
    this.#checkout = checkout;
  }

  /** Resolves when it has partitions, or answers requests. */
  async start(name: string): Promise<void> {
    const folder = SERVICES.find((service) => service.name === name)?.folder ?? '';
    const isGateway = name === 'ingest-gateway';
    const port = isGateway ? await freePort() : 0;
    const process = new ServiceProcess(`${folder}/main.ts`, {
      checkout: this.#checkout,
      env: {
        KAFKA_INSTANCE_ID: '',
        ...(isGateway ? { HTTP_ADDR: `127.0.0.1:${port}`, SPOOL_DIR: this.#spool } : {}),
      },
    });
    this.#running.set(name, process);
    const url = `http://127.0.0.1:${port}`;
    if (isGateway) this.url = url;
    const isUp = async () =>
      isGateway
        ? (await fetch(`${url}/v1/status`)).ok
        : process.log.includes('partitions assigned');
    await eventually({ ms: START, waitingFor: `${name} of another release` }, async () => {
      if (process.exitCode !== null) throw new Aborted(`${name} ended: ${process.log}`);
      return (await isUp()) ? true : undefined;
    });
  }

  async end(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#running.get(name)?.end(signal);
    this.#running.delete(name);
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.end(name, 'SIGKILL')));
    rmSync(this.#spool, { recursive: true, force: true });
  }
}
