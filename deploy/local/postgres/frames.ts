/**
 * Cuts what a PostgreSQL client sends into units that the engine must run in one go. All clients of
 * the embedded engine share one session: between the Parse and the Sync of one client no message of
 * another may pass, or the one would bind to the other's unnamed statement.
 */
export type Unit =
  /** The client asks for TLS or GSS, and is answered that there is none. */
  | { kind: 'encryption' }
  | { kind: 'startup'; bytes: Buffer }
  /** The answer to the request for a password; without its closing zero. */
  | { kind: 'password'; bytes: Buffer }
  /**
   * Runs in the engine. `held`: the client has flushed without Sync and continues with the same
   * statement.
   */
  | { kind: 'query'; bytes: Buffer; held: boolean }
  /** The client terminates, or sends a cancel request, which one session cannot serve. */
  | { kind: 'end' };

export interface Cut {
  units: Unit[];
  /** Bytes of a unit that is not complete yet. */
  rest: Buffer;
  started: boolean;
}

/** The largest message that is accepted; a client that sends more is disconnected. */
export const MAX_UNIT_BYTES = 64 * 1024 * 1024;

const PROTOCOL_3 = 196_608;
const CANCEL = 80_877_102;
const SSL = 80_877_103;
const GSS = 80_877_104;

const QUERY = 0x51;
const FLUSH = 0x48;
const PASSWORD = 0x70;
const SYNC = 0x53;
const TERMINATE = 0x58;

/** Throws when the bytes are no PostgreSQL protocol, or a unit is too large. */
export function cutUnits(buffer: Buffer, started: boolean): Cut {
  const units: Unit[] = [];
  let begin = 0;
  let at = 0;
  let open = started;
  while (!open && buffer.length - at >= 8) {
    const length = checkLength(buffer.readInt32BE(at), 8);
    if (buffer.length - at < length) break;
    const code = buffer.readInt32BE(at + 4);
    if (code === SSL || code === GSS) units.push({ kind: 'encryption' });
    else if (code === CANCEL) units.push({ kind: 'end' });
    else if (code >>> 16 === PROTOCOL_3 >>> 16) {
      units.push({ kind: 'startup', bytes: buffer.subarray(at, at + length) });
      open = true;
    } else throw new Error(`unknown protocol ${code}`);
    at += length;
    begin = at;
  }
  while (open && buffer.length - at >= 5) {
    const length = 1 + checkLength(buffer.readInt32BE(at + 1), 4);
    if (at + length - begin > MAX_UNIT_BYTES)
      throw new Error(`more than ${MAX_UNIT_BYTES} bytes in one statement`);
    if (buffer.length - at < length) break;
    const type = buffer[at];
    const body = at + 5;
    at += length;
    if (type === TERMINATE) {
      units.push({ kind: 'end' });
      begin = at;
    } else if (type === PASSWORD) {
      units.push({ kind: 'password', bytes: buffer.subarray(body, Math.max(body, at - 1)) });
      begin = at;
    } else if (type === QUERY || type === SYNC || type === FLUSH) {
      units.push({ kind: 'query', bytes: buffer.subarray(begin, at), held: type === FLUSH });
      begin = at;
    }
  }
  return { units, rest: buffer.subarray(begin), started: open };
}

function checkLength(length: number, least: number): number {
  if (length < least || length > MAX_UNIT_BYTES) throw new Error(`a message of ${length} bytes`);
  return length;
}
