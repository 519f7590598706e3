import { setMaxListeners } from 'node:events';
import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { WakeSignal } from '../../platform/wake-signal.ts';
import { moveDeadlines } from './leasing/move-deadlines.ts';
import { FIRST_CHUNKS, isPressed, planLeases, type ChannelLoad } from './leasing/plan.ts';
import { sendLeased, type SendingDeps } from './leasing/send-leased.ts';
import type { DispatcherMetrics } from './metrics.ts';
import type { ChannelGate } from './senders/sender-gates.ts';
import type { LeasedChunk } from './store/chunk-row.ts';
import { leaseChunks } from './store/lease-chunks.ts';

export interface DispatcherOptions extends Omit<
  SendingDeps,
  'load' | 'metrics' | 'ending' | 'stopping'
> {
  database: Pick<Database, 'query'>;
  metrics: DispatcherMetrics;
  log: Log;
  /** Names this process among all dispatchers, and since its start. */
  owner: string;
  leaseMs: number;
  /** Chunks that are leased at a time. */
  slots: number;
  /** Between two looks for due chunks while nobody calls `wake`, ms. */
  idleMs: number;
}

/** Chunks that end at the same time make one look, ms. */
const GATHER_MS = 10;
/** How often senders are read again while chunks are leased or wait for a sender, ms. */
const REFRESH_MS = 1000;
/** How often the deadlines of runs move along with a sender that is at its limits, ms. */
const MOVE_MS = 60_000;
/** Writes after open calls were ended, ms. */
const RECORD_MS = 2000;

/**
 * Leases due chunks by turns and sends them, until it is closed. Several processes may do so: a
 * chunk belongs to the one that leased it last.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #sending = new Map<LeasedChunk, Promise<void>>();
  readonly #ending = new AbortController();
  readonly #stopping = new AbortController();
  readonly #wake = new WakeSignal();
  readonly #deps: SendingDeps;
  #loops: Promise<unknown> = Promise.resolve();
  #leases = 0;
  /** Why nothing is leased; empty: it is. */
  #problem = 'waits for PostgreSQL (DATABASE_URL)';

  constructor(options: DispatcherOptions) {
    this.#options = options;
    // Each chunk listens.
    setMaxListeners(0, this.#ending.signal);
    this.#deps = {
      ...options,
      load: {
        chunks: () => this.#sending.size,
        isPressed: () => isPressed(this.#sending.size, options),
      },
      ending: this.#ending.signal,
      stopping: this.#stopping.signal,
    };
  }

  problems(): string[] {
    return this.#problem === '' ? [] : [this.#problem];
  }

  get chunks(): number {
    return this.#sending.size;
  }

  start(): void {
    this.#loops = Promise.all([this.#leaseUntilEnd(), this.#refreshUntilEnd()]);
  }

  /** Chunks have become due. */
  wake(): void {
    this.#wake.notify();
  }

  /** Opens nothing more, waits `ms` for open calls, then ends them; gives all leases back. */
  async stop(ms: number): Promise<void> {
    this.#ending.abort(new Error('stopping'));
    await this.#loops;
    const ended = Promise.all(this.#sending.values());
    const timer = new AbortController();
    await Promise.race([ended, delay(ms, timer.signal).catch(() => undefined)]);
    this.#stopping.abort(new Error('stopping'));
    await Promise.race([ended, delay(RECORD_MS, timer.signal).catch(() => undefined)]);
    timer.abort();
  }

  async #leaseUntilEnd(): Promise<void> {
    const { signal } = this.#ending;
    let failures = 0;
    while (!signal.aborted) {
      let leased = 0;
      try {
        leased = await this.#lease();
        this.#problem = '';
        failures = 0;
      } catch (error) {
        this.#problem = 'chunks of campaigns cannot be read from PostgreSQL (DATABASE_URL)';
        // The first failure, then about one a minute.
        if (failures++ % 60 === 0)
          this.#options.log.warn(
            { err: error, code: 'dispatcher_store' },
            `${this.#problem}; retrying`,
          );
        await delay(REFRESH_MS, signal).catch(() => undefined);
      }
      if (leased === 0) await this.#wake.wait(this.#options.idleMs, signal);
      await delay(GATHER_MS, signal).catch(() => undefined);
    }
  }

  /** Begins to send what is due; answers how many chunks. */
  async #lease(): Promise<number> {
    const { database, leaseMs, slots, owner, gates } = this.#options;
    const { free, max } = planLeases([...gates.all()].map(loadOf), { slots });
    if (max === 0) return 0;
    const chunks = await leaseChunks(database, {
      ...{ owner: `${owner}/${this.#leases++}`, leaseMs, free, max },
      perChannel: FIRST_CHUNKS,
    });
    for (const chunk of chunks) this.#begin(chunk);
    return chunks.length;
  }

  #begin(leased: LeasedChunk): void {
    const { gates, metrics, log } = this.#options;
    const channel = gates.get(leased.accountId, leased.channel as ChannelGate['channel']);
    channel.chunks++;
    const sending = sendLeased(leased, this.#deps)
      .catch((error: unknown) => {
        const { accountId: account, campaignId: campaign, runId: run, chunk } = leased;
        if (!this.#ending.signal.aborted)
          log.warn(
            { err: error, code: 'dispatcher_chunk', account, campaign, run, chunk },
            'a chunk of a campaign could not be sent now; it is tried again when its lease has run out',
          );
        return 'error' as const;
      })
      .then((end) => {
        metrics.chunkEnded(end);
        channel.chunks--;
        this.#sending.delete(leased);
        this.#wake.notify();
      });
    this.#sending.set(leased, sending);
  }

  /** Notices senders that were changed, and that work again. */
  async #refreshUntilEnd(): Promise<void> {
    const { gates } = this.#options;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const watched = [...gates.all()].filter(
        ({ chunks, gate }) => chunks > 0 || gate.phase !== 'closed',
      );
      await Promise.allSettled(watched.map((channel) => gates.refresh(channel)));
      gates.sweep();
      await this.#moveDeadlines().catch(() => undefined);
      await delay(REFRESH_MS, signal).catch(() => undefined);
    }
  }

  async #moveDeadlines(): Promise<void> {
    const { database, gates } = this.#options;
    const now = performance.now();
    const channels = [...gates.all()].filter(
      ({ gate, deadlinesMovedAt }) => gate.isAtLimit && now - deadlinesMovedAt > MOVE_MS,
    );
    if (channels.length === 0) return;
    await moveDeadlines(database, channels);
    for (const channel of channels) channel.deadlinesMovedAt = now;
  }
}

function loadOf({ accountId, channel, chunks, gate }: ChannelGate): ChannelLoad {
  return { accountId, channel, chunks, phase: gate.phase, hasRoom: gate.hasRoom };
}
