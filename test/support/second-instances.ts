import { SERVICES, type ServiceName } from '../../schemas/topology.ts';
import { ServiceProcess } from './service-process.ts';

/**
 * A second instance of services of the stack, each a member of the same consumer group under a name
 * of its own: partitions move to it when it comes, and back when it goes.
 */
export class SecondInstances {
  readonly #running = new Map<ServiceName, ServiceProcess>();

  get names(): ServiceName[] {
    return [...this.#running.keys()];
  }

  start(name: ServiceName): void {
    const folder = SERVICES.find((service) => service.name === name)?.folder ?? '';
    const env = { KAFKA_INSTANCE_ID: `${name}-second` };
    this.#running.set(name, new ServiceProcess(`${folder}/main.ts`, { env }));
  }

  /** Waits until the instance has partitions. */
  async untilAssigned(name: ServiceName): Promise<void> {
    await this.#running
      .get(name)
      ?.until('to have partitions', () =>
        this.#running.get(name)?.log.includes('partitions assigned') === true ? true : undefined,
      );
  }

  async end(name: ServiceName, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#running.get(name)?.end(signal);
    this.#running.delete(name);
  }

  async remove(): Promise<void> {
    await Promise.all(this.names.map((name) => this.end(name, 'SIGKILL')));
  }
}
