export interface Host {
  host: string;
  port: number;
}

/** A host that failed is tried last for this long, ms. */
const PASSED_OVER_MS = 30_000;

/** In which order the hosts are tried: as given, those with a recent failure last. */
export class HostChoice {
  readonly #hosts: readonly Host[];
  readonly #now: () => number;
  readonly #failedAt = new Map<Host, number>();

  /** @param now a monotonic clock, ms */
  constructor(hosts: readonly Host[], now: () => number) {
    this.#hosts = hosts;
    this.#now = now;
  }

  order(): Host[] {
    const now = this.#now();
    const failedAt = (host: Host) => {
      const at = this.#failedAt.get(host);
      return at === undefined || now - at >= PASSED_OVER_MS ? -Infinity : at;
    };
    return this.#hosts.toSorted((a, b) => {
      const [first, second] = [failedAt(a), failedAt(b)];
      return first === second ? 0 : first - second;
    });
  }

  failed(host: Host): void {
    this.#failedAt.set(host, this.#now());
  }
}
