import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import { FairQueue } from '../../platform/fair-queue.ts';
import { IncompleteBody } from '../../platform/http/incomplete-body.ts';
import { Turns } from '../../platform/http/turns.ts';
import {
  readBytes,
  type MemoryBudget,
  type ReadFailure,
  type ReadLimits,
} from '../../platform/http/read-body.ts';

/** Why there is no body. */
export type BodyFailure = ReadFailure | 'undecodable';

/**
 * Pieces of large bodies, of 64 KiB, that are read and hashed before the event loop serves other
 * requests: about 0.5 ms of work.
 */
const PIECES_PER_ROUND = 2;
/** Between two rounds, ms: large bodies take a fifth of the thread, however many there are. */
const ROUND_INTERVAL = 2;
/** Bodies that are decoded at once, and that wait for it. */
const DECODERS = { concurrency: 4, maxWaiting: { total: 1024, perAccount: 128 } };

/**
 * Limits the bytes of request bodies in memory. An account may hold as many as are free after that:
 * one alone holds half of all, two a third each, and there is always room for another one.
 */
export class BodyBudget {
  readonly #max: number;
  readonly #held = new Map<number, number>();
  readonly decoders = new FairQueue(DECODERS);
  /** Of the pieces of large bodies; by account, or by address where the account is unknown. */
  readonly turns = new Turns({
    perRound: PIECES_PER_ROUND,
    defer: (round) => setTimeout(round, ROUND_INTERVAL),
  });
  bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  acquire(accountId: number, bytes: number): boolean {
    const own = (this.#held.get(accountId) ?? 0) + bytes;
    if (own > this.#max - this.bytes - bytes) return false;
    this.#held.set(accountId, own);
    this.bytes += bytes;
    return true;
  }

  release(accountId: number, bytes: number): void {
    const own = (this.#held.get(accountId) ?? 0) - bytes;
    if (own > 0) this.#held.set(accountId, own);
    else this.#held.delete(accountId);
    this.bytes -= bytes;
  }

  /** The part of one account. */
  of(accountId: number): MemoryBudget {
    return {
      acquire: (bytes) => this.acquire(accountId, bytes),
      release: (bytes) => this.release(accountId, bytes),
    };
  }
}

export interface BodyOptions {
  /** Bytes of the body as sent and as decoded (ingest 8). */
  limit: number;
  budget: BodyBudget;
  accountId: number;
  /** Called with each piece of the body, as decoded. */
  onPiece?: (piece: Buffer) => void;
}

/** Whether a body is sent encoded. */
export function isEncoded({ 'content-encoding': encoding = '' }: IncomingHttpHeaders): boolean {
  return encoding !== '' && encoding.toLowerCase() !== 'identity';
}

/** Reads a body, whatever its Content-Type says, and decodes gzip; see readBytes. */
export async function readBody(
  request: IncomingMessage,
  { limit, budget, accountId, onPiece }: BodyOptions,
): Promise<Buffer | BodyFailure> {
  const isPlain = !isEncoded(request.headers);
  if (!isPlain && !/^(x-)?gzip$/i.test(request.headers['content-encoding'] ?? ''))
    return 'undecodable';
  const own = budget.of(accountId);
  const turn = budget.turns.of(accountId);
  const sent = await readBytes(request, {
    ...{ limit, budget: own, turn },
    onPiece: isPlain ? onPiece : undefined,
  });
  if (isPlain || typeof sent === 'string') return sent;
  const decoded = budget.decoders.run(accountId, () =>
    decodeGzip(sent, { limit, budget: own, onPiece }),
  );
  const body = decoded ? await decoded : 'overloaded';
  own.release(sent.length);
  return body;
}

/**
 * Decodes gzip of one or more members. The budget counts what is decoded as it grows: a body of a
 * few KB may become a thousand times as much, and ends at the limit.
 */
export function decodeGzip(
  sent: Buffer,
  { limit, budget, onPiece }: Pick<ReadLimits, 'limit' | 'onPiece'> & { budget: MemoryBudget },
): Promise<Buffer | BodyFailure> {
  return new Promise((resolve) => {
    const body = new IncompleteBody(limit, budget);
    const gunzip = createGunzip();
    let length = 0;
    let isOpen = true;
    const fail = (failure: BodyFailure) => {
      if (!isOpen) return;
      isOpen = false;
      body.release();
      gunzip.destroy();
      resolve(failure);
    };
    gunzip.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) fail('too_large');
      else if (!body.add(chunk)) fail('overloaded');
      else onPiece?.(chunk);
    });
    gunzip.on('error', () => fail('undecodable'));
    gunzip.on('end', () => {
      if (isOpen) resolve(body.bytes());
    });
    gunzip.end(sent);
  });
}
