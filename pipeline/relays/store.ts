import type { Database } from '../../platform/postgres/pool.ts';
import { IN_FLIGHT, type Delivery, type Outcome } from './delivery.ts';
import { BEFORE_FIRST, type PartitionPosition } from '../../schemas/log-position.ts';
import type { DueRow, AvailableEndpoint } from './plan-claim.ts';
import type { RelayQueue } from './queue-bounds.ts';
import type { RelayRow } from './relay.ts';
import * as sql from './statements.ts';

/** A delivery of the stream with its outcome. */
export interface DeliveryResult {
  delivery: Delivery;
  outcome: Outcome | typeof IN_FLIGHT;
  /** False: it is only counted. A pending one is always kept. */
  isKept?: boolean;
}

/** The outcome of a row of the queue. */
export interface FinishedDelivery {
  id: number;
  outcome: Outcome;
  /** False: it is counted, and the row is deleted. */
  isKept?: boolean;
}

/** A row of the queue that this process has leased. */
export interface ClaimedDelivery {
  id: number;
  delivery: Delivery;
}

export interface Completion {
  partition: number;
  /** The position that this process stored last. */
  from: PartitionPosition;
  /** Of the last event in the results. */
  to: PartitionPosition;
  results: readonly DeliveryResult[];
  lease: number;
}

/** Another process processes the partition: this one must stop. */
export class PositionMoved extends Error {}

/** The tables of RELAYS.md. Every method is one atomic statement. */
export class RelayStore {
  readonly #database: Database;
  readonly #owner: string;

  /** @param owner name of this process: only the owner of a lease writes the row's outcome */
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

  /** All enabled relays, and their revision. */
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
   * Moves the position and writes the results up to it in one transaction. Answers the row ids of
   * those in flight, by their index in `results`; deliveries of a deleted relay have none. It is
   * idempotent: repeated after a lost answer, it changes nothing and answers the same. Throws
   * PositionMoved.
   */
  async complete({
    partition,
    from,
    to,
    results,
    lease,
  }: Completion): Promise<Map<number, number>> {
    const rows = results.map(({ delivery, outcome, isKept = true }, at) => ({
      at,
      delivery,
      isKept,
      ...sql.columnsOf(outcome),
    }));
    const column = <T>(of: (row: (typeof rows)[number]) => T) => rows.map(of);
    const { rows: answers } = await this.#database.query<{
      moved: boolean;
      ids: [number, number][] | null;
    }>(sql.COMPLETE, [
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
      column(({ delivery }) => delivery.position.epoch),
      column(({ delivery }) => delivery.position.offset),
      column(({ delivery }) => delivery.position.index),
      column(({ delivery }) => storable(delivery.messageId)),
      column(({ delivery }) => storable(delivery.event)),
      column(({ delivery, status }) =>
        status === 'succeeded' || rows.length === 1 ? null : delivery.payload,
      ),
      column(({ status }) => status),
      column(({ isAttempt }) => isAttempt),
      column(({ responseStatus }) => responseStatus),
      column(({ error }) => error),
      column(({ delay }) => delay / 1000),
      column(({ isInFlight }) => isInFlight),
      column(({ isKept }) => isKept),
      rows.length === 1 ? rows[0]?.delivery.payload : null,
    ]);
    const [answer] = answers;
    if (answer?.moved === true) return new Map(answer.ids ?? []);
    const position = await this.position(partition);
    if (position.epoch !== to.epoch || position.offset !== to.offset || position.index !== to.index)
      throw new PositionMoved(`another process moved the position of partition ${partition}`);
    return this.#inFlightOf(partition, results);
  }

  /** The first due rows of each endpoint, in their order, at most `limit` in total. */
  async due({
    endpoints,
    limit,
  }: {
    endpoints: readonly AvailableEndpoint[];
    limit: number;
  }): Promise<DueRow[]> {
    const { rows } = await this.#database.query<{ id: string; relay_id: string; bytes: number }>(
      sql.DUE,
      [endpoints.map(({ relayId }) => relayId), endpoints.map(({ capacity }) => capacity), limit],
    );
    return rows.map(({ id, relay_id: relayId, bytes }) => ({
      id: Number(id),
      relayId: Number(relayId),
      bytes,
    }));
  }

  /** Leases those of these rows that are still due, for `lease` ms. */
  async claim({
    ids,
    lease,
  }: {
    ids: readonly number[];
    lease: number;
  }): Promise<ClaimedDelivery[]> {
    const { rows } = await this.#database.query<sql.ClaimResult>(sql.CLAIM, [
      ids,
      lease / 1000,
      this.#owner,
    ]);
    return rows.map((row) => ({
      id: Number(row.id),
      delivery: {
        relayId: Number(row.relay_id),
        accountId: Number(row.account_id),
        position: {
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

  /** Writes outcomes of leased rows. Rows that another process has leased are not changed. */
  async finish(outcomes: readonly FinishedDelivery[]): Promise<void> {
    const rows = outcomes.map(({ id, outcome, isKept = true }) => ({
      id,
      isKept,
      ...sql.columnsOf(outcome),
    }));
    await this.#database.query(sql.FINISH, [
      this.#owner,
      rows.map(({ id }) => id),
      rows.map(({ status }) => status),
      rows.map(({ isAttempt }) => isAttempt),
      rows.map(({ responseStatus }) => responseStatus),
      rows.map(({ error }) => error),
      rows.map(({ delay }) => delay / 1000),
      rows.map(({ isKept }) => isKept),
    ]);
  }

  /**
   * Releases the leases of processes whose owner name begins with the prefix; answers how many
   * rows. Only for processes that no longer run.
   */
  async release(ownerPrefix: string): Promise<number> {
    return (await this.#database.query(sql.RELEASE, [ownerPrefix])).rowCount ?? 0;
  }

  /** Stored deliveries of each relay that has some. */
  async queues(): Promise<RelayQueue[]> {
    const { rows } = await this.#database.query<sql.QueueResult>(sql.QUEUES);
    return rows.map((row) => ({
      relayId: Number(row.relay_id),
      accountId: Number(row.account_id),
      pending: { rows: Number(row.pending_rows), bytes: Number(row.pending_bytes) },
      dead: { rows: Number(row.dead_rows), bytes: Number(row.dead_bytes) },
    }));
  }

  async #inFlightOf(
    partition: number,
    results: readonly DeliveryResult[],
  ): Promise<Map<number, number>> {
    const inFlight = results.flatMap(({ delivery, outcome }, at) =>
      outcome.kind === IN_FLIGHT.kind ? [{ at, delivery }] : [],
    );
    if (inFlight.length === 0) return new Map();
    const { rows } = await this.#database.query<{ at: number; id: string }>(sql.FIND_IN_FLIGHT, [
      this.#owner,
      partition,
      inFlight.map(({ at }) => at),
      inFlight.map(({ delivery }) => delivery.relayId),
      inFlight.map(({ delivery }) => delivery.position.epoch),
      inFlight.map(({ delivery }) => delivery.position.offset),
      inFlight.map(({ delivery }) => delivery.position.index),
    ]);
    return new Map(rows.map(({ at, id }) => [at, Number(id)]));
  }
}

/** PostgreSQL's text cannot contain NUL; in the payload it is escaped. */
function storable(text: string): string {
  return text.includes('\u0000') ? text.replaceAll('\u0000', '\ufffd') : text;
}
