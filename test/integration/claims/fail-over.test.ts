import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { claimId, claimScope, type ClaimId } from '../../../events/claims/claim-id.ts';
import type { ClaimToLoad } from '../../../events/claims/resolution.ts';
import type { ClaimOfEvent } from '../../../events/raw/record-claims.ts';
import { backfillClaims } from '../../../pipeline/normalise/backfill-claims.ts';
import { ClaimsGate } from '../../../pipeline/normalise/claims-gate.ts';
import { resolveFrom, type PackedClaim } from '../../../pipeline/normalise/resolve-from.ts';
import { BEFORE_FIRST } from '../../../schemas/log-position.ts';
import { ClaimBatcher } from '../../../platform/claims/claim-batcher.ts';
import { ClaimStore } from '../../../platform/claims/claim-store.ts';
import { connectClaims } from '../../../platform/claims/connect.ts';
import { Sweeper } from '../../../platform/claims/sweeper.ts';
import { redisSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { FAIL_OVER_KINDS, type FailOverRedis } from '../../support/connections/redis-fail-over.ts';
import { FULL } from '../../support/stack.ts';
import { until } from './redis-under-test.ts';

const KILLS = FULL ? 12 : 2;
/** Short, so that many claims are packed while they are still sent again. */
const TTL = 600_000;
const PARTITIONS = 4;
const PEOPLE = 6;
/** Resent ids are among as many that were sent last. */
const RECENT = 400;
const BATCH = 50;
const scope = claimScope(1, 'message');

/** The logs of Kafka, in memory. */
class Logs {
  readonly raw = Array.from({ length: PARTITIONS }, (): ClaimOfEvent[] => []);
  readonly normalised = Array.from({ length: PARTITIONS }, (): ClaimToLoad[] => []);
  /** Next offset of each partition of raw: everything below it is in normalised. */
  readonly committed = new Map<number, number>();
  #acceptances = 0;

  accept(partition: number, ids: readonly ClaimId[], receivedAt: number): void {
    const log = this.raw[partition] ?? [];
    for (const id of ids) {
      const position = { epoch: 0, partition, offset: log.length, index: 0 };
      const acceptance = (this.#acceptances += 1);
      log.push({ id, position, acceptance, receivedAt, account: 1, kind: 'message', key: id });
    }
  }

  get ends(): Map<number, number> {
    return new Map(this.normalised.map((rows, partition) => [partition, rows.length]));
  }
}

/** The claims, the gate, the backfill and the sweep of a normaliser, over logs in memory. */
class Normaliser {
  readonly #logs: Logs;
  readonly #owned: readonly number[];
  readonly #store: ClaimStore;
  readonly #gate: ClaimsGate;
  readonly #sweeper: Sweeper;
  readonly #stop = new AbortController();
  readonly #next = new Map<number, number>();
  loaded = 0;
  packed = 0;
  asked = 0;

  constructor(of: { redis: Redis; logs: Logs; owned: readonly number[] }) {
    this.#logs = of.logs;
    this.#owned = of.owned;
    this.#store = new ClaimStore({ redis: of.redis, dedupeTtl: TTL, packAfter: () => 0 });
    this.#gate = new ClaimsGate({ load: () => this.#load(), failed: () => undefined });
    this.#sweeper = new Sweeper({
      ...{ store: this.#store, dedupeTtl: TTL, partitions: PARTITIONS },
      progress: () => {
        const { ends, committed } = this.#logs;
        return { epoch: 0, processed: [], ends, stored: new Map(committed) };
      },
      onSwept: ({ packed }) => (this.packed += packed),
      onLost: () => this.#gate.claimsLost(),
      onError: () => undefined,
    });
    this.#gate.start();
    this.#sweeper.start();
    for (const partition of this.#owned) void this.#run(partition).catch(() => undefined);
  }

  get isReady(): boolean {
    return this.#gate.isOpen;
  }

  get isAtEnd(): boolean {
    return this.#owned.every((at) => (this.#next.get(at) ?? 0) === this.#logs.raw[at]?.length);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the test has ended'));
    await this.#sweeper.stop();
  }

  async #run(partition: number): Promise<void> {
    const { signal } = this.#stop;
    const [raw = [], rows = []] = [this.#logs.raw[partition], this.#logs.normalised[partition]];
    while (!signal.aborted) {
      const from = this.#next.get(partition) ?? 0;
      const claims = raw.slice(from, from + BATCH);
      if (claims.length === 0) {
        await sleep(5);
        continue;
      }
      const round = await this.#gate.enter(signal);
      try {
        const store = {
          resolve: this.#store.resolve.bind(this.#store),
          held: this.#store.held.bind(this.#store),
          stored: (asked: readonly PackedClaim[]) => {
            this.asked += asked.length;
            return Promise.resolve(asked.map(({ claim }) => this.#row(claim)));
          },
        };
        const resolved = await resolveFrom(store, { claims, published: BEFORE_FIRST }, signal);
        if (resolved.status !== 'resolved') {
          this.#gate.claimsLost(round);
          continue;
        }
        for (const [at, { verdict }] of resolved.resolutions.entries()) {
          const claim = claims[at];
          if (claim && (verdict === 'first' || verdict === 'replay')) rows.push(claim);
        }
        this.#next.set(partition, from + claims.length);
        this.#logs.committed.set(partition, from + claims.length);
      } finally {
        this.#gate.leave();
      }
    }
  }

  #row({ id }: ClaimOfEvent): ClaimToLoad | 'none' {
    return this.#logs.normalised.flat().find((row) => row.id === id) ?? 'none';
  }

  #load(): Promise<void> {
    const { normalised, ends } = this.#logs;
    const read = async (rows: readonly ClaimToLoad[], load: (claims: ClaimToLoad[]) => unknown) => {
      await load([...rows]);
      return rows.length;
    };
    return this.#store.ensureLoaded({
      signal: this.#stop.signal,
      partitions: () => ({ epoch: 0, owned: this.#owned }),
      backfill: async (target) => {
        const { from, loaded } = await backfillClaims(target, {
          ...{ epoch: 0, partitions: PARTITIONS, dedupeTtl: TTL, now: Date.now },
          ends: {
            normalised: () =>
              Promise.resolve(
                new Map([...this.#logs.ends].map(([at, high]) => [at, { low: 0, high }])),
              ),
            unstored: () => Promise.resolve(0),
            committed: () => Promise.resolve(new Map(this.#logs.committed)),
            backlogAge: () => Promise.resolve(0),
          },
          // Only at the start, when there are no rows.
          read: ({ until: end }, _, load) =>
            end === undefined && ends.size > 0 ? read(normalised.flat(), load) : Promise.resolve(0),
          readLog: ({ partition, from: first, to }, _, load) =>
            read(normalised[partition]?.slice(first, to) ?? [], load),
          waiting: () => undefined,
        });
        if (from === 'log') this.loaded += loaded;
      },
    });
  }
}

it.each(FAIL_OVER_KINDS)(
  `the claims of %s are exact through ${KILLS} kills with -9 of a master under load`,
  async (kind, start) => {
    const servers = await start();
    const clients: Redis[] = [];
    const connect = async (role: 'gateway' | 'normaliser') => {
      const redis = connectClaims({
        settings: settingsOf(servers),
        role,
        onError: () => undefined,
      });
      clients.push(redis);
      await until(() => redis.status === 'ready');
      return redis;
    };
    const logs = new Logs();
    const gateway = new ClaimBatcher({ redis: await connect('gateway'), dedupeTtl: TTL });
    const normalisers = [
      new Normaliser({ redis: await connect('normaliser'), logs, owned: [0, 1] }),
      new Normaliser({ redis: await connect('normaliser'), logs, owned: [2, 3] }),
    ];
    const ready = () => waitFor(() => normalisers.every(({ isReady }) => isReady));
    try {
      await ready();
      const load = startLoad(gateway, logs);
      for (let kill = 0; kill < KILLS; kill += 1) {
        // Longer than the pause of the sweep, which records the ends.
        await sleep(2500 + Math.random() * 1000);
        await servers.killMaster(kill);
        await ready();
        await servers.restart();
      }
      const { sent, duplicates } = await load.stop();
      await waitFor(() => normalisers.every(({ isAtEnd }) => isAtEnd));
      const rows = new Map<ClaimId, number>();
      for (const { id } of logs.normalised.flat()) rows.set(id, (rows.get(id) ?? 0) + 1);
      const lost = [...sent].filter((id) => !rows.has(id)).length;
      const doubled = [...rows.values()].filter((n) => n > 1).length;
      const loaded = normalisers.reduce((sum, one) => sum + one.loaded, 0);
      const packed = normalisers.reduce((sum, one) => sum + one.packed, 0);
      const published = logs.raw.flat().length;
      console.log(
        JSON.stringify({
          ...{ redis: kind, kills: KILLS, sent: sent.size, published, lost, doubled },
          ...{ early_duplicates: duplicates, claims_loaded: loaded, packed },
          asked: normalisers.reduce((sum, one) => sum + one.asked, 0),
        }),
      );
      expect({ lost, doubled }).toEqual({ lost: 0, doubled: 0 });
      expect(rows.size).toBe(sent.size);
      expect(published).toBeGreaterThan(sent.size);
      expect(duplicates).toBeGreaterThan(0);
      expect(loaded).toBeGreaterThan(0);
      expect(packed).toBeGreaterThan(0);
    } finally {
      await Promise.all(normalisers.map((one) => one.stop()));
      await gateway.close();
      for (const client of clients) client.disconnect();
      await servers.stop();
    }
  },
  FULL ? 900_000 : 180_000,
);

const settingsOf = ({ env }: FailOverRedis) => parseSettings(redisSettings, env);

async function waitFor(condition: () => boolean): Promise<void> {
  for (let times = 0; times < 12; times += 1)
    if (
      await until(condition).then(
        () => true,
        () => false,
      )
    )
      return;
  throw new Error('the condition did not come true within two minutes');
}

/** New ids, and again some that were sent before, mostly in another partition. */
function startLoad(gateway: ClaimBatcher, logs: Logs) {
  const sent = new Set<ClaimId>();
  const recent: ClaimId[] = [];
  let [running, duplicates] = [true, 0];
  const send = async (person: number) => {
    const fresh = Array.from({ length: 5 }, () => claimId(scope, randomUUID()));
    const again = Array.from(
      { length: 3 },
      () => recent[Math.floor(Math.random() * recent.length)],
    ).flatMap((id) => id ?? []);
    recent.push(...fresh);
    recent.splice(0, Math.max(0, recent.length - RECENT));
    const now = Date.now();
    const claimed = await gateway.claim([...fresh, ...again], now);
    const accepted = claimed.ids.filter((_, at) => {
      const verdict = claimed.verdicts[at];
      return verdict !== 'durable' && verdict !== 'repeated';
    });
    duplicates += claimed.ids.length - accepted.length;
    logs.accept((person + Math.floor(Math.random() * 3)) % PARTITIONS, accepted, now);
    gateway.confirm(claimed);
    for (const id of claimed.ids) sent.add(id);
    await sleep(5);
  };
  const people = Array.from({ length: PEOPLE }, async (_, person) => {
    while (running) await send(person);
  });
  return {
    async stop() {
      running = false;
      await Promise.all(people);
      return { sent, duplicates };
    },
  };
}
