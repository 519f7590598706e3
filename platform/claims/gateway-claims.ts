import type { Redis } from 'ioredis';
import { packClaimIds } from '../../events/claims/claim-id.ts';
import type { ClaimId } from '../../events/claims/claim-id.ts';
import { toClaimTime } from '../../events/claims/claim-time.ts';
import { encodeEntry, TOKEN_BYTES } from '../../events/claims/entry.ts';
import { claimScript, releaseScript } from './scripts.ts';
import { ScriptRunner } from './script-runner.ts';

const NO_BYTES = Buffer.alloc(0);
const NO_TOKEN = Buffer.alloc(TOKEN_BYTES);

interface GatewayClaimsOptions {
  readonly redis: Redis;
  readonly prefix: string;
  /** ms */
  readonly dedupeTtl: number;
  /** ms; 0 writes no pending claims: an id without a durable claim is reported as free. */
  readonly pendingTtl: number;
}

/**
 * The gateway's script calls, each one round trip. They reject when Redis does not answer;
 * ClaimBatcher handles that.
 */
export class GatewayClaims {
  readonly #scripts: ScriptRunner;
  readonly #options: GatewayClaimsOptions;

  constructor(options: GatewayClaimsOptions) {
    this.#scripts = new ScriptRunner(options);
    this.#options = options;
  }

  /**
   * First confirms (as ConfirmBuffer.next packs them), then claims `ids` with `token` as of `now`,
   * Unix ms. Resolves with one claimCode per id.
   */
  async claim(options: {
    readonly confirms?: Buffer;
    readonly ids: readonly ClaimId[];
    readonly token: Buffer;
    readonly now: number;
  }): Promise<Buffer> {
    const codes = await this.#scripts.run(
      claimScript,
      options.confirms ?? NO_BYTES,
      packClaimIds(options.ids),
      this.#pendingValue(options),
      toClaimTime(options.now),
      this.#options.dedupeTtl,
    );
    if (!Buffer.isBuffer(codes) || codes.length !== options.ids.length)
      throw new TypeError('the claim script did not answer for every id');
    return codes;
  }

  /** Makes claims durable without claiming others. */
  async confirm(confirms: Buffer): Promise<void> {
    await this.#scripts.run(
      claimScript,
      confirms,
      NO_BYTES,
      this.#pendingValue({ token: NO_TOKEN, now: 0 }),
      0,
      this.#options.dedupeTtl,
    );
  }

  /**
   * Removes the claims pending with `token`. Resolves with their number.
   */
  async release(ids: readonly ClaimId[], token: Buffer): Promise<number> {
    const released = await this.#scripts.run(
      releaseScript,
      packClaimIds(ids),
      Buffer.concat([Buffer.of(0), token]),
    );
    return Number(released);
  }

  #pendingValue({ token, now }: { readonly token: Buffer; readonly now: number }): Buffer {
    const { pendingTtl } = this.#options;
    if (pendingTtl === 0) return NO_BYTES;
    return encodeEntry({ state: 'pending', expires: now + pendingTtl, token });
  }
}
