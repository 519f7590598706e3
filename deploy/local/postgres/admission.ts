import { createHash, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Unit } from './frames.ts';

/** Time for a client to send the password, ms. */
const ADMISSION_MS = 10_000;
/** The most that a client may send before its password is checked, as PostgreSQL has it, bytes. */
const ADMISSION_BYTES = 10_000;
/** AuthenticationCleartextPassword: enough on loopback, and every client knows it. */
const ASK_PASSWORD = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);
/** ErrorResponse invalid_password. */
const WRONG_PASSWORD = errorResponse('28P01', 'password authentication failed');

/**
 * Asks a new connection for the password; without it nothing of the client reaches the engine.
 * Disconnects a client that sends anything else first, too much, or nothing in time.
 */
export class Admission {
  readonly #socket: Socket;
  readonly #password: Buffer;
  readonly #timer: NodeJS.Timeout;
  #startup: Buffer | undefined;
  #received = 0;
  #isAdmitted = false;

  constructor(socket: Socket, password: string) {
    this.#socket = socket;
    this.#password = Buffer.from(password);
    this.#timer = setTimeout(() => socket.destroy(), ADMISSION_MS);
    socket.on('close', () => clearTimeout(this.#timer));
  }

  /** Counts what arrived; false: the client sends too much before its password. */
  allows(bytes: number): boolean {
    this.#received += bytes;
    return this.#isAdmitted || this.#received <= ADMISSION_BYTES;
  }

  /** The unit for the engine, which answers the startup message once the password was right. */
  pass(unit: Unit): Unit | undefined {
    if (this.#isAdmitted || unit.kind === 'end') return unit;
    switch (unit.kind) {
      case 'encryption':
        this.#socket.write('N');
        return undefined;
      case 'startup':
        this.#startup = Buffer.from(unit.bytes);
        this.#socket.write(ASK_PASSWORD);
        return undefined;
      case 'password':
        return this.#check(unit.bytes);
      case 'query':
        this.#socket.destroy();
        return undefined;
    }
  }

  #check(password: Buffer): Unit | undefined {
    if (this.#startup === undefined || !isEqual(password, this.#password)) {
      this.#socket.end(WRONG_PASSWORD);
      return undefined;
    }
    this.#isAdmitted = true;
    clearTimeout(this.#timer);
    return { kind: 'startup', bytes: this.#startup };
  }
}

/** Compares in a time that does not depend on where they differ. */
function isEqual(a: Buffer, b: Buffer): boolean {
  const digest = (value: Buffer) => createHash('sha256').update(value).digest();
  return timingSafeEqual(digest(a), digest(b));
}

function errorResponse(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.from([0x45, 0, 0, 0, 0]);
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
