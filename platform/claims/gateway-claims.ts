import type { Redis } from 'ioredis';
import { packClaimIds } from '../../events/claims/claim-id.ts';
import type { ClaimId } from '../../events/claims/claim-id.ts';
import { toClaimTime } from '../../events/claims/claim-time.ts';
import { packConfirms } from '../../events/claims/confirm-buffer.ts';
import type { ConfirmGroup } from '../../events/claims/confirm-buffer.ts';
import { encodeEntry, TOKEN_BYTES } from '../../events/claims/entry.ts';
import { joinParts, splitByShard } from '../../events/claims/shard.ts';
import { claimLayout } from './claim-keys.ts';
import { claimScript, peekScript, releaseScript } from './scripts.ts';
import { shardRunners } from './script-runner.ts';
import type { ScriptRunner } from './script-runner.ts';

const NO_BYTES = Buffer.alloc(0);
const NO_TOKEN = Buffer.alloc(TOKEN_BYTES);

interface GatewayClaimsOptions {
  readonly redis: Redis;
  readonly prefix?: string | undefined;
  readonly shards?: number | undefined;
  readonly firstPacks?: number | undefined;
  /** ms */
  readonly dedupeTtl: number;
  /** ms; 0 writes no pending claims: an id without a durable claim is reported as free. */
  readonly pendingTtl: number;
}

/**
 * The gateway's script calls: one round trip each, with a call for each shard that has an id in it.
 * They reject when a shard does not answer, also when others did; ClaimBatcher handles that.
 */
export class GatewayClaims {
  readonly #shards: readonly ScriptRunner[];
  readonly #options: GatewayClaimsOptions;

  constructor(options: GatewayClaimsOptions) {
    this.#shards = shardRunners(options.redis, claimLayout(options));
    this.#options = options;
  }

  /**
   * First confirms, then claims `ids` with `token` as of `now`, Unix ms. Resolves with one
   * claimCode per id.
   */
  async claim(options: {
    readonly confirms?: readonly ConfirmGroup[];
    readonly ids: readonly ClaimId[];
    readonly token: Buffer;
    readonly now: number;
  }): Promise<Buffer> {
    const parts = this.#split(options.ids);
    const confirms = this.#confirmsByShard(options.confirms ?? []);
    const pending = this.#pendingValue(options);
    const now = toClaimTime(options.now);
    const answers = parts.map(async ({ shard, items }) => {
      const packed = confirms.get(shard) ?? NO_BYTES;
      const codes = await this.#run(shard, { confirms: packed, ids: items, pending, now });
      if (!Buffer.isBuffer(codes) || codes.length !== items.length)
        throw new TypeError('the claim script did not answer for every id');
      return codes;
    });
    const asked = new Set(parts.map(({ shard }) => shard));
    const others = [...confirms].flatMap(([shard, packed]) =>
      asked.has(shard) ? [] : [this.#run(shard, { confirms: packed, ids: [], pending, now })],
    );
    const [codes] = await Promise.all([Promise.all(answers), Promise.all(others)]);
    const [only] = codes;
    return codes.length === 1 && only ? only : Buffer.from(joinParts(parts, codes));
  }

  /** Makes claims durable without claiming others. */
  async confirm(groups: readonly ConfirmGroup[]): Promise<void> {
    await this.claim({ confirms: groups, ids: [], token: NO_TOKEN, now: 0 });
  }

  /**
   * Removes the claims pending with `token`. Resolves with their number.
   */
  async release(ids: readonly ClaimId[], token: Buffer): Promise<number> {
    const own = Buffer.concat([Buffer.of(0), token]);
    const released = await Promise.all(
      this.#split(ids).map(({ shard, items }) =>
        this.#runner(shard).run(releaseScript, packClaimIds(items), own),
      ),
    );
    return released.reduce<number>((sum, one) => sum + Number(one), 0);
  }

  /** Rejects unless every shard answers. */
  async probe(): Promise<void> {
    await Promise.all(this.#shards.map((shard) => shard.run(peekScript, NO_BYTES)));
  }

  #run(
    shard: number,
    of: { confirms: Buffer; ids: readonly ClaimId[]; pending: Buffer; now: number },
  ): Promise<unknown> {
    const { confirms, ids, pending, now } = of;
    return this.#runner(shard).run(
      ...([claimScript, confirms, packClaimIds(ids), pending, now] as const),
      this.#options.dedupeTtl,
    );
  }

  #split(ids: readonly ClaimId[]) {
    return splitByShard(ids, { shards: this.#shards.length, idOf: (id) => id });
  }

  #confirmsByShard(groups: readonly ConfirmGroup[]): Map<number, Buffer> {
    if (groups.length === 0) return new Map();
    const byShard = new Map<number, ConfirmGroup[]>();
    for (const { ids, expires } of groups)
      for (const { shard, items } of this.#split(ids)) {
        const group = { ids: items, expires };
        const others = byShard.get(shard);
        if (others) others.push(group);
        else byShard.set(shard, [group]);
      }
    return new Map([...byShard].map(([shard, ofShard]) => [shard, packConfirms(ofShard)]));
  }

  #runner(shard: number): ScriptRunner {
    const runner = this.#shards[shard];
    if (!runner) throw new RangeError(`the claims have no shard ${shard}`);
    return runner;
  }

  #pendingValue({ token, now }: { readonly token: Buffer; readonly now: number }): Buffer {
    const { pendingTtl } = this.#options;
    if (pendingTtl === 0) return NO_BYTES;
    return encodeEntry({ state: 'pending', expires: now + pendingTtl, token });
  }
}
