import { hash } from 'node:crypto';
import { auditedChange } from '../../platform/audited-change.ts';
import {
  isDry,
  isLong,
  isOfInstallation,
  type Operation,
  type OperationKind,
  type OperationState,
} from '../../platform/operations/operation.ts';
import type { OperationWait } from '../../platform/operations/operation-wait.ts';
import type { Store } from '../store.ts';

/** Operations of one account, or of the installation, that have not ended. */
export const MAX_OPEN = 20;

export interface StoredOperation {
  id: number;
  kind: OperationKind;
  /** Empty for operations about a person. */
  input: Readonly<Record<string, unknown>>;
  state: OperationState;
  stop_requested: boolean;
  /** E-mail address; null: the member has left. */
  requested_by: string | null;
  requested_at: string;
  started_at: string | null;
  finished_at: string | null;
  /** Of an operation that has not ended; the panel says it in its language. */
  waits: readonly OperationWait[];
  /** Null: it waits for nothing. */
  waits_since: string | null;
  result: Readonly<Record<string, unknown>> | null;
  error: string;
}

type Time = 'requested_at' | 'started_at' | 'finished_at' | 'waits_since';

interface Row extends Omit<StoredOperation, 'id' | Time> {
  id: string;
  requested_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  waits_since: Date | null;
}

interface Requester {
  accountId: number;
  memberId: number;
}

/** Whose operations somebody sees: the account's, for an operator also the installation's. */
interface Viewer {
  accountId: number;
  isOperator: boolean;
}

const VISIBLE = '(o.account_id = $1 OR (o.account_id IS NULL AND $2::boolean))';
/** Who may see operations is not always who may see people. */
const COLUMNS =
  "o.id, o.kind, CASE WHEN o.kind LIKE 'person.%' THEN '{}' ELSE o.input END AS input, o.state, o.stop_requested, p.email AS requested_by, o.requested_at, o.started_at, o.finished_at, o.waits, o.waits_since, o.result, o.error";
const FROM = 'operations o LEFT JOIN members p ON p.id = o.requested_by';

/** Requests that the service `operator` carries out; each has an audit line of its member. */
export function operationStore(store: Store) {
  return {
    /**
     * The id of the new operation, or of the same one that has not ended; undefined: as many wait
     * as may. The audit line names no person.
     */
    async request(
      { accountId, memberId }: Requester,
      operation: Operation,
    ): Promise<number | undefined> {
      const { kind, input } = operation;
      const owner = isOfInstallation(kind) ? null : accountId;
      const text = JSON.stringify(input, Object.keys(input).sort());
      const subject = hash('sha256', text);
      const rows = await auditedChange<{ id: string }>(store, {
        statement: `INSERT INTO operations (account_id, kind, input, subject, is_long, is_dry, requested_by)
          SELECT $1::bigint, $2::text, $3::json, $4::text, $5::boolean, $8::boolean, $6::bigint
          WHERE (SELECT count(*) FROM operations WHERE account_id IS NOT DISTINCT FROM $1::bigint AND state IN ('queued', 'running')) < $7::int
          ON CONFLICT (coalesce(account_id, 0), kind, subject) WHERE state IN ('queued', 'running') DO NOTHING
          RETURNING account_id, id, jsonb_build_object('operation_id', id) AS audit`,
        values: [
          owner,
          kind,
          text,
          subject,
          isLong(operation),
          memberId,
          MAX_OPEN,
          isDry(operation),
        ],
        ...{ actor: `member:${memberId}`, action: 'operation.requested' },
        details: { kind, ...aboutOf(operation) },
      });
      const [made] = rows;
      if (made) return Number(made.id);
      const { rows: open } = await store.query<{ id: string }>(
        `SELECT id FROM operations WHERE account_id IS NOT DISTINCT FROM $1::bigint AND kind = $2 AND subject = $3 AND state IN ('queued', 'running')`,
        [owner, kind, subject],
      );
      return open[0] && Number(open[0].id);
    },
    /** Newest first; dry runs are left out. */
    async list({ accountId, isOperator }: Viewer, limit: number): Promise<StoredOperation[]> {
      const { rows } = await store.query<Row>(
        `SELECT ${COLUMNS} FROM ${FROM} WHERE ${VISIBLE} AND NOT o.is_dry ORDER BY o.id DESC LIMIT $3`,
        [accountId, isOperator, limit],
      );
      return rows.map(operationOf);
    },
    async find(
      { accountId, isOperator }: Viewer,
      id: number,
    ): Promise<StoredOperation | undefined> {
      const { rows } = await store.query<Row>(
        `SELECT ${COLUMNS} FROM ${FROM} WHERE ${VISIBLE} AND o.id = $3`,
        [accountId, isOperator, id],
      );
      return rows[0] && operationOf(rows[0]);
    },
    /**
     * False: there is none that could be stopped. An erasure that has begun is carried out: nobody
     * may leave half a person behind.
     */
    async stop(
      { accountId, isOperator, memberId }: Viewer & Requester,
      id: number,
    ): Promise<boolean> {
      const rows = await auditedChange(store, {
        statement: `UPDATE operations o SET stop_requested = true WHERE ${VISIBLE} AND o.id = $3
            AND o.state IN ('queued', 'running') AND (o.started_at IS NULL OR o.kind <> 'person.erase' OR o.is_dry)
          RETURNING o.account_id, jsonb_build_object('operation_id', o.id, 'kind', o.kind) AS audit`,
        values: [accountId, isOperator, id],
        ...{ actor: `member:${memberId}`, action: 'operation.stop_requested', details: {} },
      });
      return rows.length > 0;
    },
  };
}

export type OperationStore = ReturnType<typeof operationStore>;

/** What the audit line says about it: never a person. */
function aboutOf({ kind, input }: Operation): Record<string, unknown> {
  if (kind === 'log.replay' || kind === 'projection.rebuild') return { ...input };
  const group = 'group' in input ? { group: input.group } : {};
  return { dry_run: input.dry_run, ...group };
}

function operationOf(row: Row): StoredOperation {
  return {
    ...row,
    id: Number(row.id),
    requested_at: row.requested_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
    waits_since: row.waits_since?.toISOString() ?? null,
  };
}
