import { distinctIdOf } from '../../events/event-name.ts';
import type { EventOffset } from '../../schemas/log-position.ts';
import { addedRow } from '../../projections/catalogue/added.ts';
import { publishPeople } from '../../projections/identities/flat-table.ts';
import { applyAliases } from '../../projections/identities/apply-aliases.ts';
import { postgresIdentities } from '../../projections/identities/postgres-store.ts';
import { aliasOf } from '../../projections/identities/read-aliases.ts';
import { isFoldedIn } from '../../projections/profiles/evolve.ts';
import { profileKey } from '../../projections/profiles/profile.ts';
import { clickhouseProfiles, loadInParts } from '../../projections/profiles/store.ts';
import type { EventRow } from '../../schemas/records.ts';
import type { Connections } from '../jobs/connections.ts';
import type { SourceEvent } from './source.ts';
import { deadLetterPositions } from './verdicts.ts';

export interface AffectedPerson {
  accountId: number;
  distinctId: string;
  partition: number;
}

/** Dead rows by the minute of reception that the reconciliation counts them under. */
export interface DeadMinute {
  account: number;
  /** ms since the epoch */
  minute: number;
  rows: number;
}

const MINUTE = 60_000;
const PERSONS_PER_QUERY = 5000;

/** Updates of the other projections for rows that a replay adds to the live tables. */
export class SideEffects {
  readonly #connections: Connections;
  readonly #signal: AbortSignal;
  #dead: Promise<(partition: number, at: EventOffset) => boolean> | undefined;

  constructor(connections: Connections, signal: AbortSignal) {
    this.#connections = connections;
    this.#signal = signal;
  }

  /** Events in events.dead: the other projections have not processed them either. */
  async revivedEvents(events: readonly SourceEvent[]): Promise<SourceEvent[]> {
    const known = events.filter(
      ({ verdictsKnown, verdict }) => verdictsKnown || verdict !== undefined,
    );
    const unknown = events.filter((event) => !known.includes(event));
    const wasDead =
      unknown.length === 0
        ? undefined
        : await (this.#dead ??= deadLetterPositions(this.#connections, this.#signal));
    return [
      ...known.filter(({ verdict }) => verdict === 'dead'),
      ...unknown.filter(({ partition, at }) => wasDead?.(partition, at) === true),
    ];
  }

  /**
   * The persons whose profile lacks one of the events: it was never folded, or the profile is gone.
   * A profile at or after a published position includes it (FOLD.md).
   */
  async affectedPersons(
    events: readonly SourceEvent[],
    revived: readonly SourceEvent[],
  ): Promise<AffectedPerson[]> {
    const store = clickhouseProfiles({
      client: this.#connections.clickhouse,
      cluster: this.#connections.settings.CLICKHOUSE_CLUSTER,
    });
    const isRevived = new Set(revived);
    const names = new Map<string, AffectedPerson>();
    const add = ({ accountId, partition }: SourceEvent, row: EventRow) => {
      const name = distinctIdOf(row);
      names.set(profileKey(accountId, name), { accountId, distinctId: name, partition });
    };
    for (let from = 0; from < events.length; from += PERSONS_PER_QUERY) {
      const some = events.slice(from, from + PERSONS_PER_QUERY);
      const wanted = some
        .filter((event) => !isRevived.has(event))
        .flatMap(({ accountId, row }) =>
          row ? [{ accountId, distinctId: distinctIdOf(row) }] : [],
        );
      const states =
        wanted.length === 0 ? new Map() : await loadInParts(store, wanted, this.#signal);
      for (const event of some) {
        if (!event.row) continue;
        const state = states.get(
          profileKey(event.accountId, distinctIdOf(event.row)),
        ) as Parameters<typeof isFoldedIn>[0];
        if (isRevived.has(event) || !isFoldedIn(state, event.row)) add(event, event.row);
      }
    }
    return [...names.values()];
  }

  /** Applies the aliases among the events; known ones change nothing. */
  async applyAliases(events: readonly SourceEvent[]): Promise<void> {
    const { database, clickhouse: client, settings } = this.#connections;
    const store = postgresIdentities(database);
    const aliases = events.flatMap(({ row }) => (row ? (aliasOf(row) ?? []) : []));
    for (const [accountId, own] of Map.groupBy(aliases, (alias) => alias.accountId)) {
      await applyAliases(
        store,
        accountId,
        own.map(({ fact }) => fact),
      );
      await publishPeople(
        { store, client, table: 'identities_flat', cluster: settings.CLICKHOUSE_CLUSTER },
        accountId,
      );
    }
  }

  /**
   * Counts the events that the catalogue has not seen, each under its position: idempotent.
   */
  async countInCatalogue(revived: readonly SourceEvent[]): Promise<void> {
    const values = revived.flatMap(({ row }) => (row ? [addedRow(row)] : []));
    if (values.length === 0) return;
    const cluster = this.#connections.settings.CLICKHOUSE_CLUSTER;
    await this.#connections.clickhouse.insert({
      table: 'event_catalogue',
      values: values.map((row) => ({ ...row, last_seen: new Date(row.last_seen).toISOString() })),
      format: 'JSONEachRow',
      clickhouse_settings: {
        async_insert: 0,
        ...(cluster === '' ? {} : { distributed_foreground_insert: '1', insert_quorum: 'auto' }),
      },
    });
  }
}

/** The reconciliation counts these as dead until their rows are stored. */
export function deadCountsOf(revived: readonly SourceEvent[]): DeadMinute[] {
  const minutes = new Map<string, DeadMinute>();
  for (const { accountId: account, receivedAt } of revived) {
    const minute = Math.floor(receivedAt / MINUTE) * MINUTE;
    const key = `${account} ${minute}`;
    const found = minutes.get(key);
    if (found) found.rows++;
    else minutes.set(key, { account, minute, rows: 1 });
  }
  return [...minutes.values()];
}

/**
 * `stored` is the result of the last reconciliation of a minute; an open minute is counted again
 * anyway. An `also` statement of OwnedJob.update.
 */
export function moveDeadToStored(dead: readonly DeadMinute[]): { sql: string; values: unknown[] } {
  return {
    sql: `INSERT INTO books (account_id, minute, dead, stored, open)
      SELECT moved.account_id, moved.minute, -moved.n, moved.n, false FROM owner, unnest($6::bigint[], $7::timestamptz[], $8::bigint[]) AS moved (account_id, minute, n)
      ON CONFLICT (account_id, minute) DO UPDATE SET dead = books.dead + excluded.dead, stored = books.stored + excluded.stored, changed_at = clock_timestamp()`,
    values: [
      dead.map(({ account }) => account),
      dead.map(({ minute }) => new Date(minute)),
      dead.map(({ rows }) => rows),
    ],
  };
}
