import { setImmediate as nextTurn } from 'node:timers/promises';
import { delay } from '../../platform/backoff.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Log } from '../../platform/log.ts';
import { OnsiteCatalogue } from './catalogue.ts';
import { Memberships, type AudienceLayout } from './memberships.ts';
import { PAGE, type OnsiteStore, type Revised } from './onsite-store.ts';

interface FollowOptions {
  store: OnsiteStore;
  log: Log;
  now: () => number;
  /** Time between two reads, ms. */
  interval?: number;
}

/** What was read last of each table, by revision. */
interface Cursors {
  campaigns: number;
  layouts: number;
  chunks: number;
}

const INTERVAL_MS = 1000;
/** Between two reads that requests for unknown campaigns want, ms. */
const GAP_MS = 100;
/** Such a request waits no longer, ms. */
const DEADLINE = { ms: 1000, waitingFor: 'on-site campaigns in PostgreSQL' };

/**
 * Keeps the live campaigns and the members of their audiences in memory: reads what changed, every
 * second, and the first campaign of an installation within two. What was read is served while
 * PostgreSQL is unreachable.
 */
export class FollowedCampaigns {
  readonly #options: FollowOptions;
  readonly #timer: NodeJS.Timeout;
  catalogue = new OnsiteCatalogue();
  memberships = new Memberships();
  #cursors: Cursors = { campaigns: 0, layouts: 0, chunks: 0 };
  #known = -1;
  #reading: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #startedAt = -Infinity;
  /** Those whose chunks are not all read yet. */
  #layouts: AudienceLayout[] = [];
  #isFailing = false;
  #ticks = 0;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), options.interval ?? INTERVAL_MS).unref();
    void this.#read();
  }

  /**
   * Reads what has changed until now. False: it could not be read, so what is unknown may exist.
   * Requests that wait share a read. Never rejects.
   */
  async refresh(): Promise<boolean> {
    const next = (this.#next ??= this.#readNext());
    return withDeadline(DEADLINE, next).catch(() => false);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #readNext(): Promise<boolean> {
    await delay(Math.max(0, this.#startedAt + GAP_MS - this.#options.now()));
    // It began before some of the requests came.
    while (this.#reading) await this.#reading;
    this.#next = undefined;
    return this.#read();
  }

  /** An installation without campaigns reads half as often. */
  #tick(): void {
    this.#ticks++;
    if (this.catalogue.isEmpty && this.#ticks % 2 === 1) return;
    void this.#read();
  }

  #read(): Promise<boolean> {
    if (this.#reading) return this.#reading;
    this.#startedAt = this.#options.now();
    this.#reading = this.#readOnce().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readOnce(): Promise<boolean> {
    const { store, log, now } = this.#options;
    let isRead = false;
    try {
      const revision = await store.revision();
      // A restored database: what is known may be what it never had.
      if (revision < this.#known) this.#forget();
      if (revision > this.#known) {
        await this.#readChanges();
        isRead = true;
      }
      this.#known = revision;
      if (this.#isFailing) log.info('on-site campaigns can be read again');
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        log.warn(
          { err: error, code: 'onsite_unreachable' },
          'on-site campaigns cannot be read from PostgreSQL; what was read is served',
        );
      this.#isFailing = true;
    }
    if (this.catalogue.expire(now()) || isRead) this.memberships.retain(this.catalogue.audiences());
    while (this.memberships.removeChunk()) await nextTurn();
    return !this.#isFailing;
  }

  /**
   * In an order in which nothing is used before what it needs: an audience's chunks are written
   * before the layout that counts them, and a campaign before its audience.
   */
  async #readChanges(): Promise<void> {
    const { store } = this.#options;
    await this.#readPages(
      'layouts',
      (after) => store.layouts(after),
      (layout) => void this.#layouts.push(layout),
    );
    await this.#readPages(
      'chunks',
      (after) => store.chunks(after),
      async (chunk) => {
        if (!this.memberships.addChunk(chunk)) this.#reportFull(chunk.accountId);
        // A large one takes a millisecond or two, and requests wait.
        await nextTurn();
      },
    );
    for (const layout of this.#layouts.splice(0)) this.memberships.setLayout(layout);
    await this.#readPages(
      'campaigns',
      (after) => store.campaigns(after),
      (campaign) => this.#set(campaign),
    );
  }

  async #readPages<T>(
    table: keyof Cursors,
    read: (after: number) => Promise<Revised<T>[]>,
    apply: (row: Revised<T>) => void | Promise<void>,
  ): Promise<void> {
    let rows: Revised<T>[];
    do {
      rows = await read(this.#cursors[table]);
      for (const row of rows) {
        await apply(row);
        this.#cursors[table] = row.revision;
      }
    } while (rows.length === PAGE[table]);
  }

  #set(campaign: Parameters<OnsiteCatalogue['set']>[0]): void {
    try {
      this.catalogue.set(campaign, this.memberships);
    } catch (error) {
      this.#options.log.error(
        { err: error, account: campaign.accountId, campaign: campaign.id, code: 'onsite_invalid' },
        'the definition of an on-site campaign cannot be read; it is not shown',
      );
    }
  }

  #forget(): void {
    this.catalogue = new OnsiteCatalogue();
    this.memberships = new Memberships();
    this.#cursors = { campaigns: 0, layouts: 0, chunks: 0 };
    this.#layouts = [];
    this.#known = -1;
  }

  #reportFull(account: number): void {
    this.#options.log.warn(
      { account, code: 'onsite_memberships_full' },
      'there is no memory for more members of audiences; some people do not see a campaign',
    );
  }
}
