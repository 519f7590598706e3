import type { Database } from '../../platform/postgres/pool.ts';
import { IN_HAND, type Delivery, type Outcome } from './delivery.ts';
import { BEFORE_FIRST, type PartitionPosition } from '../../schemas/log-position.ts';
import type { RelayRow } from './relay.ts';
import * as sql from './statements.ts';

/** A delivery of the stream and what became of it. */
export interface Entry {
  delivery: Delivery;
  outcome: Outcome | typeof IN_HAND;
}

/** A row of the queue in this process's hands. */
export interface Claimed {
  id: number;
  delivery: Delivery;
}

export interface Settling {
  partition: number;
  /** The position that this process left. */
  from: PartitionPosition;
  /** The last event of the entries. */
  to: PartitionPosition;
  entries: readonly Entry[];
  lease: number;
}

/** Somebody else works on the partition: this process must stop. */
export class PositionMoved extends Error {}

/**
 * The tables of RELAYS.md. Every method is one statement, complete by itself; all reject when
 * PostgreSQL does.
 */
export class RelayStore {
  readonly #database: Database;
  readonly #owner: string;

  /** `owner` is this process's own name: whoever claimed a row writes its outcome. */
  constructor(database: Database, owner: string) {
    this.#database = database;
    this.#owner = owner;
  }

  async revision(): Promise<string> {
    const { rows } = await this.#database.query<{ revision: string }>(
      'SELECT revision::text FROM relay_revision',
    );
    return rows[0]?.revision ?? '';
  }

  /** All enabled relays, and the revision that they are of. */
  async relays(): Promise<{ revision: string; rows: RelayRow[] }> {
    const { rows } = await this.#database.query<sql.RelayResult>(sql.RELAYS);
    return {
      revision: rows[0]?.revision ?? '',
      rows: rows.flatMap(({ id, account_id, url, events, filters, secret, active_since }) =>
        id === null
          ? []
          : [
              {
                id: Number(id),
                accountId: Number(account_id),
                url,
                events,
                filters,
                secret,
                activeSince: Math.floor(active_since),
              },
            ],
      ),
    };
  }

  async position(partition: number): Promise<PartitionPosition> {
    const { rows } = await this.#database.query<{
      epoch: number;
      log_offset: string;
      log_index: number;
    }>(sql.POSITION, [partition]);
    const [row] = rows;
    return row
      ? { epoch: row.epoch, offset: Number(row.log_offset), index: row.log_index }
      : BEFORE_FIRST;
  }

  /**
   * Moves the position and writes what became of the deliveries up to it, together. Answers the
   * rows of those in hand, by their number in `entries`; a relay that is gone meanwhile has none.
   * Repeated after an answer that was lost, it changes nothing and answers the same. Throws
   * PositionMoved.
   */
  async settle({ partition, from, to, entries, lease }: Settling): Promise<Map<number, number>> {
    const rows = entries.map(({ delivery, outcome }, at) => ({
      at,
      delivery,
      ...sql.written(outcome),
    }));
    const column = <T>(of: (row: (typeof rows)[number]) => T) => rows.map(of);
    const { rows: answers } = await this.#database.query<{
      moved: boolean;
      ids: [number, number][] | null;
    }>(sql.SETTLE, [
      ...[
        partition,
        to.epoch,
        to.offset,
        to.index,
        from.epoch,
        from.offset,
        from.index,
        this.#owner,
        lease / 1000,
      ],
      column(({ at }) => at),
      column(({ delivery }) => delivery.relayId),
      column(({ delivery }) => delivery.accountId),
      column(({ delivery }) => delivery.place.epoch),
      column(({ delivery }) => delivery.place.offset),
      column(({ delivery }) => delivery.place.index),
      column(({ delivery }) => storable(delivery.messageId)),
      column(({ delivery }) => storable(delivery.event)),
      column(({ delivery, status }) => (status === 'succeeded' ? null : delivery.payload)),
      column(({ status }) => status),
      column(({ isAttempt }) => isAttempt),
      column(({ responseStatus }) => responseStatus),
      column(({ error }) => error),
      column(({ delay }) => delay / 1000),
      column(({ isInHand }) => isInHand),
    ]);
    const [answer] = answers;
    if (answer?.moved === true) return new Map(answer.ids ?? []);
    const position = await this.position(partition);
    if (position.epoch !== to.epoch || position.offset !== to.offset || position.index !== to.index)
      throw new PositionMoved(`another process moved the position of partition ${partition}`);
    return this.#inHandOf(partition, entries);
  }

  /** Takes due rows for the relays, at most so many for each and so many bytes in all. */
  async claim(options: {
    rooms: readonly { relayId: number; room: number }[];
    most: number;
    lease: number;
  }): Promise<Claimed[]> {
    const { rooms, most, lease } = options;
    const { rows } = await this.#database.query<sql.ClaimResult>(sql.CLAIM, [
      rooms.map(({ relayId }) => relayId),
      rooms.map(({ room }) => room),
      most,
      lease / 1000,
      this.#owner,
    ]);
    return rows.map((row) => ({
      id: Number(row.id),
      delivery: {
        relayId: Number(row.relay_id),
        accountId: Number(row.account_id),
        place: {
          epoch: row.epoch,
          partition: row.partition,
          offset: Number(row.log_offset),
          index: row.log_index,
        },
        messageId: row.message_id,
        event: row.event,
        payload: row.payload,
        attempts: row.attempts,
      },
    }));
  }

  /**
   * Writes what became of rows in hand. A row that is not this process's own any more is left as it
   * is.
   */
  async finish(outcomes: readonly { id: number; outcome: Outcome }[]): Promise<void> {
    const rows = outcomes.map(({ id, outcome }) => ({ id, ...sql.written(outcome) }));
    await this.#database.query(sql.FINISH, [
      this.#owner,
      rows.map(({ id }) => id),
      rows.map(({ status }) => status),
      rows.map(({ isAttempt }) => isAttempt),
      rows.map(({ responseStatus }) => responseStatus),
      rows.map(({ error }) => error),
      rows.map(({ delay }) => delay / 1000),
    ]);
  }

  /**
   * Gives back what processes whose owner names begin so had in hand; answers how many rows. Only
   * for processes that cannot run any more.
   */
  async release(ownerPrefix: string): Promise<number> {
    return (await this.#database.query(sql.RELEASE, [ownerPrefix])).rowCount ?? 0;
  }

  /**
   * Ends deliveries that have been pending for two hours to endpoints that failed all that time.
   */
  async giveUp(relayIds: readonly number[]): Promise<void> {
    await this.#database.query(sql.GIVE_UP, [relayIds]);
  }

  /**
   * Forgets successes beyond the newest `keep` of each relay, dead deliveries older than
   * `retention` ms, and hours older than 400 days; answers how many deliveries.
   */
  async prune({ keep, retention }: { keep: number; retention: number }): Promise<number> {
    const forgotten = (await this.#database.query(sql.PRUNE_SUCCESSES, [keep])).rowCount ?? 0;
    const dead = (await this.#database.query(sql.PRUNE_DEAD, [retention / 1000])).rowCount ?? 0;
    await this.#database.query(sql.PRUNE_HOURS);
    return forgotten + dead;
  }

  async queue(): Promise<{ pending: number; due: number; oldest: number }> {
    const { rows } = await this.#database.query<{ pending: string; due: string; oldest: number }>(
      sql.QUEUE,
    );
    return {
      pending: Number(rows[0]?.pending),
      due: Number(rows[0]?.due),
      oldest: rows[0]?.oldest ?? 0,
    };
  }

  async #inHandOf(partition: number, entries: readonly Entry[]): Promise<Map<number, number>> {
    const inHand = entries.flatMap(({ delivery, outcome }, at) =>
      outcome.kind === IN_HAND.kind ? [{ at, delivery }] : [],
    );
    if (inHand.length === 0) return new Map();
    const { rows } = await this.#database.query<{ at: number; id: string }>(sql.IN_HAND, [
      this.#owner,
      partition,
      inHand.map(({ at }) => at),
      inHand.map(({ delivery }) => delivery.relayId),
      inHand.map(({ delivery }) => delivery.place.epoch),
      inHand.map(({ delivery }) => delivery.place.offset),
      inHand.map(({ delivery }) => delivery.place.index),
    ]);
    return new Map(rows.map(({ at, id }) => [at, Number(id)]));
  }
}

/** PostgreSQL's text holds no NUL; the payload says it as JSON does. */
function storable(text: string): string {
  return text.includes('\u0000') ? text.replaceAll('\u0000', '\ufffd') : text;
}
