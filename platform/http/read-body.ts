import type { IncomingMessage } from 'node:http';
import { IncompleteBody, type MemoryBudget } from './incomplete-body.ts';
import type { TakeTurn } from './turns.ts';

export type { MemoryBudget } from './incomplete-body.ts';

/** Why there is no body: too large, client gone, or too many bytes in memory. */
export type ReadFailure = 'too_large' | 'client_gone' | 'overloaded';

export interface ReadLimits {
  /** Bytes of one body. */
  limit: number;
  /** The caller releases the bytes of the body it gets; without a body nothing remains acquired. */
  budget?: MemoryBudget;
  /** Behind FREE_BYTES each piece waits for a turn. */
  turn?: TakeTurn;
  /** Called with each piece that is kept. */
  onPiece?: ((piece: Buffer) => void) | undefined;
}

/** A body up to this size is read as it arrives: it is one read of a socket. */
export const FREE_BYTES = 64 * 1024;

/** Reads a body. The excess is read, not kept, so that the client sees the answer. */
export async function readBytes(
  message: IncomingMessage,
  { limit, budget, turn, onPiece }: ReadLimits,
): Promise<Buffer | ReadFailure> {
  if (Number(message.headers['content-length'] ?? 0) > limit) {
    message.resume();
    return 'too_large';
  }
  // `close` has been emitted already.
  if (message.destroyed) return 'client_gone';
  return await new Promise((resolve) => {
    const declared = message.headers['content-length'];
    const body = new IncompleteBody(Number(declared ?? limit), budget);
    const expected = Number(declared ?? Infinity);
    let length = 0;
    let isOpen = true;
    const end = (result: Buffer | ReadFailure) => {
      if (!isOpen) return;
      isOpen = false;
      if (typeof result === 'string') body.release();
      resolve(result);
    };
    message.on('data', (chunk: Buffer) => {
      if (!isOpen) return;
      length += chunk.length;
      if (length > limit) return end('too_large');
      if (!body.add(chunk)) return end('overloaded');
      onPiece?.(chunk);
      if (turn && length > FREE_BYTES && length < expected) awaitTurn(message, turn);
    });
    message.on('end', () => {
      if (isOpen) end(body.bytes());
    });
    // Without a listener for `error`, a client that leaves only emits `close`.
    message.on('close', () => end('client_gone'));
  });
}

/** Stops reading until there is a turn. */
export function awaitTurn(message: IncomingMessage, turn: TakeTurn): void {
  message.pause();
  turn(() => message.resume());
}

export type ReadJson =
  | { ok: true; value: unknown; bytes: Buffer }
  | { ok: false; reason: 'too_large' | 'malformed' | 'client_gone' };

/** How much a JSON body may hold. */
export interface JsonStructure {
  /** Lists and objects inside each other; what writes JSON again overflows its stack later. */
  depth: number;
  /** Lists, objects and keys: 100,000 are parsed in some 40 ms. */
  nodes: number;
  /** Commas. */
  elements: number;
}

/** The largest requests, audiences, have 200,000 values in 200 conditions (management 8.3). */
const MAX_STRUCTURE: JsonStructure = { depth: 1000, nodes: 100_000, elements: 250_000 };
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{` differ in this bit only, and so do `]` and `}`. */
const CURLY = 0x20;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;

/** Whether JSON holds more than that; one pass, without parsing. */
export function exceedsStructure(bytes: Buffer, most: JsonStructure = MAX_STRUCTURE): boolean {
  let depth = 0;
  let nodes = 0;
  let elements = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else if ((byte & ~CURLY) === OPEN) {
      if (++depth > most.depth || ++nodes > most.nodes) return true;
    } else if ((byte & ~CURLY) === CLOSE) depth--;
    else if (byte === COMMA) {
      if (++elements > most.elements) return true;
    } else if (byte === COLON && ++nodes > most.nodes) return true;
  }
  return false;
}

/**
 * Reads a body of at most `limit` bytes as JSON, whatever its Content-Type says. One that holds
 * more values than any request needs is malformed.
 */
export async function readJson(message: IncomingMessage, limit: number): Promise<ReadJson> {
  const bytes = await readBytes(message, { limit });
  if (typeof bytes === 'string')
    return { ok: false, reason: bytes === 'too_large' ? 'too_large' : 'client_gone' };
  // 8 MiB of lists take seconds to parse and hundreds of megabytes to hold
  if (exceedsStructure(bytes)) return { ok: false, reason: 'malformed' };
  try {
    return { ok: true, value: JSON.parse(bytes.toString('utf8')) as unknown, bytes };
  } catch {
    return { ok: false, reason: 'malformed' };
  }
}
