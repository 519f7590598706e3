import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { WaitingConnection } from '../../platform/http/waiting-connection.ts';

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

/** Knows for which connections nothing is being done. */
export interface WaitingConnections {
  waiting: () => Iterable<WaitingConnection>;
}

const KINDS: readonly WaitingConnection['kind'][] = ['unused', 'idle', 'slow'];
/** This part of the limit is closed at once: to find the oldest takes a pass over all. */
const PART = 1 / 64;

/**
 * Limits and counts the connections of a server, whoever serves them. At the limit, those that have
 * waited for their clients longest are closed for new ones: whoever holds connections without using
 * them keeps nobody out. A new one is refused only while all others are in use.
 */
export class OpenConnections {
  readonly max: number;
  readonly #sockets = new Set<Socket>();
  /** New ones that were closed because of the limit, and others that were closed for new ones. */
  refused = 0;
  evicted = 0;

  constructor(max: number) {
    this.max = max;
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** To be called when every other listener of the server's connections has been added. */
  watch(server: Server, sources: readonly WaitingConnections[]): void {
    // A new connection is here before others are closed for it.
    server.maxConnections = this.max + 1;
    server.on('drop', () => this.refused++);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      if (this.open > this.max) this.#makeRoom(socket, sources);
    });
  }

  #makeRoom(latest: Socket, sources: readonly WaitingConnections[]): void {
    const oldest = oldestOf(sources, { except: latest, count: Math.ceil(this.max * PART) });
    for (const { socket } of oldest) this.#close(socket);
    this.evicted += oldest.length;
    if (oldest.length > 0) return;
    this.#close(latest);
    this.refused++;
  }

  #close(socket: Socket): void {
    this.#sockets.delete(socket);
    socket.destroy();
  }
}

function oldestOf(
  sources: readonly WaitingConnections[],
  { except, count }: { except: Socket; count: number },
): WaitingConnection[] {
  const byKind = { unused: [], idle: [], slow: [] } as Record<
    WaitingConnection['kind'],
    WaitingConnection[]
  >;
  for (const source of sources)
    for (const one of source.waiting()) if (one.socket !== except) byKind[one.kind].push(one);
  const kind = KINDS.find((each) => byKind[each].length > 0);
  return kind ? byKind[kind].sort((a, b) => a.since - b.since).slice(0, count) : [];
}
