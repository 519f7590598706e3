import { MAX_RELAYS, type RelayDefinition } from '../../events/relays/definition.ts';
import type { Filter } from '../../events/relays/filter.ts';
import { UniqueViolation, changeWithAudit, type Store } from '../store.ts';
import { destinationOf } from './destination.ts';

/** A relay as clients see it (ingest 2.8): without its secret. */
export type RelayView = Required<Omit<RelayDefinition, 'secret'>> & {
  /** Why the relays service disabled it; absent otherwise. */
  disabled_reason?: string;
};

export interface DeliveryView {
  id: number;
  message_id: string;
  event: string;
  status: 'pending' | 'succeeded' | 'dead';
  attempts: number;
  response_status: number | null;
  error: string | null;
  next_attempt_at: string | null;
  created_at: string;
}

/** Who changes what; the audit line names the member. */
interface Change {
  accountId: number;
  memberId: number;
}

interface RelayChange extends Change {
  id: number;
}

interface SavedRelay extends Change {
  relay: RelayView;
  /** Undefined keeps the stored one. */
  sealed: Buffer | undefined;
  /** The row exists already. */
  isKnown: boolean;
}

/** Newest deliveries in an answer. */
export const MAX_DELIVERIES = 100;
/** Deliveries per statement of a retry. */
const RETRY_ROWS = 5000;

const FIND = 'SELECT url FROM relays WHERE id = $1 AND account_id = $2';

/** No row: the account has as many relays as it may have. */
const INSERT = `INSERT INTO relays (id, account_id, name, url, events, filters, enabled, secret)
  SELECT $1::bigint, $2::bigint, $3::text, $4::text, $5::text[], $6::jsonb, $7::boolean, $8::bytea
  WHERE (SELECT count(*) FROM relays WHERE account_id = $2::bigint) < ${MAX_RELAYS}
  RETURNING account_id, id AS audit_id`;

/** Events that were accepted while a relay was disabled are not delivered later. */
const UPDATE = `UPDATE relays SET name = $3, url = $4, events = $5, filters = $6, enabled = $7, secret = coalesce($8, secret), updated_at = clock_timestamp(),
    active_since = CASE WHEN $7 AND NOT enabled THEN clock_timestamp() ELSE active_since END, disabled_reason = NULL
  WHERE id = $1 AND account_id = $2 RETURNING account_id, id AS audit_id`;

const REMOVE =
  'DELETE FROM relays WHERE id = $1 AND account_id = $2 RETURNING account_id, id AS audit_id';
/** Changes nothing: writes the audit line before deliveries are requeued. */
const SELECT_RELAY =
  'SELECT account_id, id AS audit_id FROM relays WHERE id = $1 AND account_id = $2';

const DELIVERIES = `SELECT id, message_id, event, status, attempts, response_status, error, next_attempt_at, created_at
  FROM relay_deliveries WHERE relay_id = $1 AND account_id = $2 ORDER BY id DESC LIMIT ${MAX_DELIVERIES}`;

/** A dead delivery that could not be built has no body to send. */
const REQUEUE = `UPDATE relay_deliveries SET status = 'pending', attempts = 0, next_attempt_at = now(), pending_since = now(), finished_at = NULL
  WHERE id IN (SELECT id FROM relay_deliveries WHERE relay_id = $1 AND account_id = $2 AND status = 'dead' AND payload <> '' AND id <= $3 ORDER BY id LIMIT ${RETRY_ROWS} FOR UPDATE SKIP LOCKED)`;

const NEWEST = 'SELECT max(id) AS id FROM relay_deliveries WHERE relay_id = $1';

type RelayColumns = Omit<RelayView, 'id' | 'disabled_reason'> & {
  id: string;
  disabled_reason: string | null;
};

type DeliveryColumns = Omit<DeliveryView, 'id' | 'next_attempt_at' | 'created_at'> & {
  id: string;
  next_attempt_at: Date | null;
  created_at: Date;
};

/**
 * Relays of an account and their deliveries (pipeline/relays/RELAYS.md). A change and its audit
 * line are one statement. Rejects with StoreUnavailable.
 */
export function relayStore(store: Store) {
  const destination = async ({ id, accountId }: { id: number; accountId: number }) => {
    const { rows } = await store.query<{ url: string }>(FIND, [id, accountId]);
    return rows[0] && destinationOf(rows[0].url);
  };
  /** Runs a statement on relay $1 of account $2 with its audit line; false without such a relay. */
  const changeRelay = async (
    statement: string,
    { accountId, memberId, id, action }: RelayChange & { action: string },
  ) => {
    const target = await destination({ id, accountId });
    if (target === undefined) return false;
    const record = { action, memberId, idField: 'relay_id', details: { destination: target } };
    return (
      (await changeWithAudit(store, { statement, values: [id, accountId], record })).length > 0
    );
  };
  return {
    async list(accountId: number): Promise<RelayView[]> {
      const { rows } = await store.query<RelayColumns>(
        'SELECT id, name, url, events, filters, enabled, disabled_reason FROM relays WHERE account_id = $1 ORDER BY id',
        [accountId],
      );
      return rows.map(({ id, name, url, events, filters, enabled, disabled_reason: reason }) => ({
        ...{ id: Number(id), name, url, events },
        filters: filters.map(inOrder),
        enabled,
        ...(reason === null || enabled ? {} : { disabled_reason: reason }),
      }));
    },
    /**
     * The id under which a relay is saved: the given one, that of the relay with this name, or a
     * new one. Undefined: the account has no relay with the given id.
     */
    async resolveId({
      accountId,
      id,
      name,
    }: {
      accountId: number;
      id: number | undefined;
      name: string;
    }): Promise<{ id: number; isKnown: boolean } | undefined> {
      if (id !== undefined)
        return (await destination({ id, accountId })) === undefined
          ? undefined
          : { id, isKnown: true };
      const { rows } = await store.query<{ id: string; known: boolean }>(
        `WITH known AS (SELECT id FROM relays WHERE account_id = $1 AND name = $2)
         SELECT coalesce((SELECT id FROM known), nextval(pg_get_serial_sequence('relays', 'id'))) AS id, EXISTS (SELECT FROM known) AS known`,
        [accountId, name],
      );
      return { id: Number(rows[0]?.id), isKnown: rows[0]?.known === true };
    },
    /**
     * `name_exists`: another relay has the name. `deleted`: by another request in the meantime.
     * `too_many`: it would be new, and the account has MAX_RELAYS.
     */
    async save({
      accountId,
      memberId,
      relay,
      sealed,
      isKnown,
    }: SavedRelay): Promise<'saved' | 'name_exists' | 'deleted' | 'too_many'> {
      const { id, name, url, events, filters, enabled } = relay;
      const secret = sealed ? 'set' : 'kept';
      const details = { name, destination: destinationOf(url), enabled, secret };
      const values = [id, accountId, name, url, events, JSON.stringify(filters), enabled];
      try {
        const rows = await changeWithAudit(store, {
          statement: isKnown ? UPDATE : INSERT,
          values: [...values, sealed ?? null],
          record: { action: 'relay.saved', memberId, idField: 'relay_id', details },
        });
        if (rows.length > 0) return 'saved';
        return isKnown ? 'deleted' : 'too_many';
      } catch (error) {
        if (error instanceof UniqueViolation) return 'name_exists';
        throw error;
      }
    },
    remove: (change: RelayChange): Promise<boolean> =>
      changeRelay(REMOVE, { ...change, action: 'relay.deleted' }),
    /** The newest deliveries; undefined: the account has no such relay. */
    async deliveries({
      accountId,
      id,
    }: {
      accountId: number;
      id: number;
    }): Promise<DeliveryView[] | undefined> {
      const { rows } = await store.query<DeliveryColumns>(DELIVERIES, [id, accountId]);
      if (rows.length === 0 && (await destination({ id, accountId })) === undefined)
        return undefined;
      return rows.map(({ id: delivery, next_attempt_at: next, created_at: created, ...row }) => ({
        id: Number(delivery),
        ...row,
        next_attempt_at: next?.toISOString() ?? null,
        created_at: created.toISOString(),
      }));
    },
    /** Dead deliveries that are pending again; undefined: the account has no such relay. */
    async retry(change: RelayChange): Promise<number | undefined> {
      if (!(await changeRelay(SELECT_RELAY, { ...change, action: 'relay.retried' })))
        return undefined;
      // Not those that die meanwhile, so that it ends.
      const { rows } = await store.query<{ id: string | null }>(NEWEST, [change.id]);
      const values = [change.id, change.accountId, rows[0]?.id ?? 0];
      let requeued = 0;
      for (let changed = RETRY_ROWS; changed === RETRY_ROWS; requeued += changed)
        changed = (await store.query(REQUEUE, values)).rowCount ?? 0;
      return requeued;
    },
  };
}

export type RelayStore = ReturnType<typeof relayStore>;

/** PostgreSQL does not keep the order of the keys in a filter. */
function inOrder({ prop, op, value }: Filter): Filter {
  return { prop, op, ...(value === undefined ? {} : { value }) };
}
