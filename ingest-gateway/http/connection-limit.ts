import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Descriptors that no client may take: spool, Kafka, PostgreSQL, Redis, admin port, threads. */
const RESERVED_DESCRIPTORS = 256;
/** More are possible with MAX_CONNECTIONS; an idle connection takes some 15 KB. */
const DEFAULT_CONNECTIONS = 10_000;

/** How many files and sockets this process may open; undefined where the system does not say. */
export function descriptorLimit(path = '/proc/self/limits'): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync(path, 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/**
 * How many connections clients may have, so that they never take the descriptors that accepted
 * events need.
 * @param setting MAX_CONNECTIONS; 0 derives it
 */
export function connectionLimit(setting: number, descriptors = descriptorLimit()): number {
  const wanted = setting === 0 ? DEFAULT_CONNECTIONS : setting;
  if (descriptors === undefined) return wanted;
  const reserved = Math.min(RESERVED_DESCRIPTORS, Math.ceil(descriptors / 2));
  return Math.min(wanted, descriptors - reserved);
}

/** Limits and counts the connections of a server, whoever serves them. */
export class OpenConnections {
  readonly max: number;
  open = 0;
  /** Closed at once because of the limit. */
  refused = 0;

  constructor(max: number) {
    this.max = max;
  }

  watch(server: Server): void {
    server.maxConnections = this.max;
    server.on('drop', () => this.refused++);
    server.on('connection', (socket: Socket) => {
      this.open++;
      socket.once('close', () => this.open--);
    });
  }
}
