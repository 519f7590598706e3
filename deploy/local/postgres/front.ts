import { createServer, type Server, type Socket } from 'node:net';
import { Admission } from './admission.ts';
import { cutUnits, type Unit } from './frames.ts';

/** What the front needs of the engine; PGlite has it. */
export interface Engine {
  execProtocolRawStream(
    message: Uint8Array,
    options: { onRawData: (data: Uint8Array) => void },
  ): Promise<void>;
  isInTransaction(): boolean;
  exec(sql: string): Promise<unknown>;
}

interface Options {
  engine: Engine;
  /** What each client must send before the engine runs anything for it. */
  password: string;
  maxConnections: number;
  /**
   * A client that holds a transaction open for so long without a word is disconnected and rolled
   * back: everybody else waits for it. ms
   */
  idleInTransaction: number;
  /** The engine itself failed: nothing sensible can follow. */
  onEngineFailure: (error: unknown) => void;
}

interface Client {
  socket: Socket;
  waiting: Unit[];
  rest: Buffer;
  started: boolean;
  gone: boolean;
}

/**
 * Lets many PostgreSQL clients share one embedded engine: whole units, one at a time, in order; a
 * client inside a transaction has the engine to itself until the transaction ends.
 */
export function createFront(options: Options): Server {
  const { engine } = options;
  const turn: Client[] = [];
  let owner: Client | undefined;
  let ownerTimer: NodeJS.Timeout | undefined;
  let running = false;

  const own = (client: Client | undefined) => {
    clearTimeout(ownerTimer);
    owner = client;
    if (client) ownerTimer = setTimeout(() => client.socket.destroy(), options.idleInTransaction);
  };

  /**
   * Whose turn it is: the owner of an open transaction, otherwise the client that waits longest.
   */
  const next = (): Client | undefined => {
    const index = owner ? turn.indexOf(owner) : 0;
    return index < 0 ? undefined : turn.splice(index, 1)[0];
  };

  const runUnit = async (client: Client, unit: Unit): Promise<void> => {
    switch (unit.kind) {
      case 'end':
        client.socket.end();
        return;
      // Only before the admission of the client.
      case 'encryption':
      case 'password':
        client.socket.destroy();
        return;
      case 'startup':
      case 'query': {
        await engine.execProtocolRawStream(unit.bytes, {
          onRawData: (data) => {
            // The engine uses its buffer again: what waits in the socket has to be a copy.
            if (!client.gone) client.socket.write(Buffer.from(data));
          },
        });
        own(engine.isInTransaction() || (unit.kind === 'query' && unit.held) ? client : undefined);
        return;
      }
    }
  };

  const leave = async (client: Client): Promise<void> => {
    if (owner !== client) return;
    // A cut-off statement leaves the session waiting for its Sync: the rollback includes it.
    await engine.exec('ROLLBACK');
    own(undefined);
  };

  const pump = async (): Promise<void> => {
    if (running) return;
    running = true;
    try {
      for (let client = next(); client; client = next()) {
        const unit = client.waiting.shift();
        if (client.gone) await leave(client);
        else if (unit) await runUnit(client, unit);
        if (client.waiting.length > 0 && !client.gone) turn.push(client);
      }
    } catch (error) {
      options.onEngineFailure(error);
    } finally {
      running = false;
    }
  };

  const enqueue = (client: Client) => {
    if (!turn.includes(client)) turn.push(client);
    void pump();
  };

  const server = createServer((socket) => {
    const client: Client = {
      socket,
      waiting: [],
      rest: Buffer.alloc(0),
      started: false,
      gone: false,
    };
    const admission = new Admission(socket, options.password);
    socket.setNoDelay(true);
    socket.on('data', (data) => {
      if (!admission.allows(data.length)) {
        socket.destroy();
        return;
      }
      try {
        const cut = cutUnits(
          client.rest.length === 0 ? data : Buffer.concat([client.rest, data]),
          client.started,
        );
        client.rest = cut.rest;
        client.started = cut.started;
        for (const unit of cut.units) {
          const passed = admission.pass(unit);
          if (passed) client.waiting.push(passed);
        }
      } catch {
        socket.destroy();
        return;
      }
      if (client.waiting.length > 0) enqueue(client);
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      client.gone = true;
      client.waiting = [];
      if (owner === client) enqueue(client);
    });
  });
  server.maxConnections = options.maxConnections;
  return server;
}
