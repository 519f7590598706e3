import type { Socket } from 'node:net';
import type { ClientClock } from '../../platform/http/client-clock.ts';
import type { ClientLimits } from '../../platform/http/http-connections.ts';
import type { IncompleteBody } from '../../platform/http/incomplete-body.ts';
import { isSlowBody, type WaitingConnection } from '../../platform/http/waiting-connection.ts';
import type { Principal } from '../../ingest/account.ts';
import { renderFailure, type Answer } from '../http/render.ts';
import type { KnownHead } from './known-heads.ts';

const UNAVAILABLE = renderFailure({ code: 'unavailable' });

/** What becomes of the body: it is kept, or discarded because its answer is known. */
export type BodyUse =
  | { kept: { principal: Principal; body: IncompleteBody }; refusal?: undefined }
  | { refusal: Answer; kept?: undefined };

/** The body of a request, of which bytes are missing. */
export class IncomingBody {
  readonly known: KnownHead;
  /** Bytes. */
  missing: number;
  readonly #clock: ClientClock;
  readonly #startedAt: number;
  /** When the last bytes came. */
  readAt: number;
  #use: BodyUse;

  constructor(of: { known: KnownHead; missing: number; use: BodyUse; clock: ClientClock }) {
    this.known = of.known;
    this.missing = of.missing;
    this.#use = of.use;
    this.#clock = of.clock;
    this.#startedAt = this.readAt = of.clock.now();
  }

  get use(): BodyUse {
    return this.#use;
  }

  /** Bytes of it that have arrived. */
  get arrived(): number {
    return this.known.head.contentLength - this.missing;
  }

  /** @param bytes no more than are missing; where the budget is full, the rest is discarded */
  add(bytes: Buffer): void {
    this.missing -= bytes.length;
    this.touch();
    const { kept } = this.#use;
    if (!kept || kept.body.add(bytes)) return;
    kept.body.release();
    this.#use = { refusal: UNAVAILABLE };
  }

  /** The client is waited for from now on. */
  touch(): void {
    this.readAt = this.#clock.now();
  }

  isOverdue({ bodyIdle, body }: ClientLimits): boolean {
    return this.#clock.since(this.readAt) > bodyIdle || this.#clock.since(this.#startedAt) > body;
  }

  /** Undefined while it arrives fast enough. */
  waiting(socket: Socket): WaitingConnection | undefined {
    const [startedAt, readAt] = [this.#startedAt, this.readAt];
    if (this.#use.refusal) return { socket, kind: 'unused', since: startedAt };
    const isSlow = isSlowBody({ startedAt, readAt, bytes: this.arrived }, this.#clock);
    return isSlow ? { socket, kind: 'slow', since: startedAt } : undefined;
  }

  release(): void {
    this.#use.kept?.body.release();
  }
}
