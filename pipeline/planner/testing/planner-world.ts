import { personKey } from '../../../events/messages/message-id.ts';
import { createLog } from '../../../platform/log.ts';
import type { ChunkRecipient, MessageChunk } from '../../../schemas/records.ts';
import type { FreezeQuery } from '../freeze/compile.ts';
import { RunStore } from '../run-store.ts';
import { takeTurn, type TurnPorts } from '../turn.ts';
import type { PlannerDatabase } from './planner-database.ts';

/** Small enough that few people make several slices of several chunks. */
const SIZES = { chunk: 3, slice: 2 };
/** Rows of a freeze that become visible at once. */
const BLOCK = 4;

/**
 * ClickHouse and the topic as processes of the planner share them, with the real PostgreSQL. A
 * process stops before and after each instruction that others can see, until the test lets it go
 * on; a process that the test forgets was killed, one that it lets go on late was suspended.
 */
export class PlannerWorld {
  readonly database: PlannerDatabase;
  /** People of the audience now: later freezes find those who came meanwhile. */
  people: string[];
  /** Chunks of messages.planned in the order in which they were appended. */
  readonly topic: MessageChunk[] = [];
  /** Rows of campaign_recipients by run and attempt. */
  readonly #rows = new Map<string, ChunkRecipient[]>();

  constructor(database: PlannerDatabase, people: number) {
    this.database = database;
    this.people = Array.from({ length: people }, (_, at) => `person-${at}`);
  }

  start(holder: string): Process {
    return new Process((gate) => this.#plan(holder, gate));
  }

  rowsOf(runId: number, attempt: number): ChunkRecipient[] {
    const rows = this.#rows.get(`${runId}/${attempt}`) ?? [];
    return rows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Takes turns until no run is ready. */
  async #plan(holder: string, gate: Gate): Promise<void> {
    const { database } = this.database;
    const query = (sql: string, values: unknown[]) => gate(() => database.query(sql, values));
    const store = new RunStore({ query } as unknown as typeof database, {
      ...{ holder, leaseSeconds: 3600 },
    });
    for (;;) {
      const run = await store.lease({ freezes: true, slices: true });
      if (!run) return;
      await takeTurn(run, this.#ports(store, gate), new AbortController().signal);
    }
  }

  #ports(store: RunStore, gate: Gate): TurnPorts {
    const readSlice = (query: Parameters<TurnPorts['readRecipients']>[0]) => {
      const { runId, attempt, people, after, limit } = query;
      const rows = this.rowsOf(runId, attempt);
      if (rows.length !== people) return [];
      return rows.filter(({ key }) => key > after).slice(0, limit);
    };
    return {
      store,
      findSegment: () => Promise.resolve(undefined),
      freezeRows: (query) => this.#freeze(query, gate),
      async *readRecipients(query) {
        const rows = await gate(() => readSlice(query));
        for (let at = 0; at < rows.length; at += BLOCK)
          yield await gate(() => rows.slice(at, at + BLOCK));
      },
      publish: (chunk) => gate(() => void this.topic.push(structuredClone(chunk))),
      sizes: SIZES,
      log: createLog({ part: 'test', level: 'silent' }),
      heartbeatMs: 2 ** 30,
      random: () => 0,
      now: Date.now,
    };
  }

  async #freeze({ runId, attempt, at }: FreezeQuery, gate: Gate) {
    const people = await gate(() => [...this.people]);
    const rows: ChunkRecipient[] = [];
    this.#rows.set(`${runId}/${attempt}`, rows);
    for (let start = 0; start < people.length; start += BLOCK)
      await gate(() => {
        for (const person of people.slice(start, start + BLOCK))
          rows.push({
            ...{ key: personKey(person), person_id: person, user_id: person },
            is_control: at % 2 === 0,
          });
      });
    return { people: people.length, identitiesRevision: 1 };
  }
}

/** Runs an instruction: waits to begin, has its effect, and waits to know of it. */
type Gate = <T>(effect: () => T | Promise<T>) => Promise<T>;

export class Process {
  /** Instructions that wait to go on. */
  readonly #waiting: (() => void)[] = [];
  /** Effects that are happening. */
  #busy = 0;
  hasEnded = false;

  constructor(program: (gate: Gate) => Promise<void>) {
    void program((effect) => this.#gate(effect)).then(() => {
      this.hasEnded = true;
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Lets one of the waiting instructions go on, until the whole process waits again. */
  async step(which: number): Promise<void> {
    const [go] = this.#waiting.splice(which % this.#waiting.length, 1);
    go?.();
    await this.quiet();
  }

  /** Resolves when the process waits or has ended. */
  async quiet(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#busy > 0);
    // What follows an effect without another instruction.
    for (let at = 0; at < 3; at++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Goes on to the end, in the order of its instructions. */
  async finish(): Promise<void> {
    await this.quiet();
    while (this.waiting > 0) await this.step(0);
  }

  async #gate<T>(effect: () => T | Promise<T>): Promise<T> {
    await this.#wait();
    this.#busy++;
    let done: T;
    try {
      done = await effect();
    } finally {
      this.#busy--;
    }
    await this.#wait();
    return done;
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
