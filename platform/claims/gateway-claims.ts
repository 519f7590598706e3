import type { Redis } from 'ioredis';
import { packClaimIds } from '../../events/claims/claim-id.ts';
import type { ClaimId } from '../../events/claims/claim-id.ts';
import { toClaimTime } from '../../events/claims/claim-time.ts';
import { encodeEntry, TOKEN_BYTES } from '../../events/claims/entry.ts';
import { claimScript, releaseScript } from './scripts.ts';
import { ScriptRunner } from './script-runner.ts';

const NOTHING = Buffer.alloc(0);
const NO_TOKEN = Buffer.alloc(TOKEN_BYTES);

/**
 * The gateway's two calls, each one round trip. Both reject when Redis does not answer;
 * ClaimBatcher decides what that means.
 */
export class GatewayClaims {
  readonly #run: ScriptRunner;
  readonly #dedupeTtl: number;
  readonly #pendingTtl: number;

  /**
   * Times to live in ms. With a pendingTtl of 0 no pending claims are written: an id that nobody
   * made durable is told to be free.
   */
  constructor(options: {
    readonly redis: Redis;
    readonly prefix: string;
    readonly dedupeTtl: number;
    readonly pendingTtl: number;
  }) {
    this.#run = new ScriptRunner(options);
    this.#dedupeTtl = options.dedupeTtl;
    this.#pendingTtl = options.pendingTtl;
  }

  /**
   * First raises (from RaiseBuffer.take), then claims `ids` under `token` as of `now`, Unix ms.
   * Resolves with one claimCode an id.
   */
  async claim(options: {
    readonly raises?: Buffer;
    readonly ids: readonly ClaimId[];
    readonly token: Buffer;
    readonly now: number;
  }): Promise<Buffer> {
    const codes = await this.#run.run(
      claimScript,
      options.raises ?? NOTHING,
      packClaimIds(options.ids),
      this.#pendingValue(options),
      toClaimTime(options.now),
      this.#dedupeTtl,
    );
    if (!Buffer.isBuffer(codes) || codes.length !== options.ids.length)
      throw new TypeError('the claim script did not answer for every id');
    return codes;
  }

  /** Makes claims durable that nobody waits for. */
  async confirm(raises: Buffer): Promise<void> {
    await this.#run.run(
      claimScript,
      raises,
      NOTHING,
      this.#pendingValue({ token: NO_TOKEN, now: 0 }),
      0,
      this.#dedupeTtl,
    );
  }

  /**
   * Removes the claims that are pending under `token`, and nobody else's. Resolves with their
   * number.
   */
  async release(ids: readonly ClaimId[], token: Buffer): Promise<number> {
    const released = await this.#run.run(
      releaseScript,
      packClaimIds(ids),
      Buffer.concat([Buffer.of(0), token]),
    );
    return Number(released);
  }

  #pendingValue(options: { readonly token: Buffer; readonly now: number }): Buffer {
    if (this.#pendingTtl === 0) return NOTHING;
    return encodeEntry({
      state: 'pending',
      expires: options.now + this.#pendingTtl,
      token: options.token,
    });
  }
}
