import { auditedChange } from '../../platform/audited-change.ts';
import type { Editor } from '../saved-reports/saved-report-store.ts';
import type { Store } from '../store.ts';

/** Of one account. */
export const MAX_DASHBOARDS = 100;
/** Of one dashboard. */
export const MAX_REPORTS = 24;

export interface Dashboard {
  id: number;
  name: string;
  /** Saved reports that are still there, in the order of the page. */
  report_ids: number[];
  /** E-mail address; null: the member has left. */
  created_by: string | null;
  updated_at: string;
}

export interface DashboardDraft {
  name: string;
  report_ids: readonly number[];
}

const MAY_EDIT = '(created_by = $3::bigint OR $4::boolean)';
/** Reports of other accounts, and those that are gone, are left out. */
const OWN_REPORTS = (ids: string) =>
  `(SELECT coalesce(array_agg(r.id ORDER BY asked.at), '{}') FROM unnest(${ids}::bigint[]) WITH ORDINALITY AS asked (id, at)
    JOIN saved_reports r ON r.id = asked.id AND r.account_id = $1::bigint)`;

/** Dashboards of an account; a change and its audit line are one statement. */
export function dashboardStore(store: Store) {
  return {
    /** Most recently changed first. */
    async list(accountId: number): Promise<Dashboard[]> {
      const { rows } = await store.query<
        Omit<Dashboard, 'id' | 'updated_at' | 'report_ids'> & {
          id: string;
          updated_at: Date;
          report_ids: (string | number)[];
        }
      >(
        `SELECT d.id, d.name, ${OWN_REPORTS('d.report_ids')} AS report_ids, p.email AS created_by, d.updated_at
         FROM dashboards d LEFT JOIN members p ON p.id = d.created_by
         WHERE d.account_id = $1 ORDER BY d.updated_at DESC, d.id DESC LIMIT ${MAX_DASHBOARDS}`,
        [accountId],
      );
      return rows.map(({ id, updated_at, report_ids, ...dashboard }) => ({
        ...{ id: Number(id), ...dashboard, report_ids: report_ids.map(Number) },
        updated_at: updated_at.toISOString(),
      }));
    },
    /** Undefined: the account has as many as it may. */
    async create(
      { accountId, memberId }: Omit<Editor, 'isAdmin'>,
      { name, report_ids }: DashboardDraft,
    ): Promise<number | undefined> {
      const [row] = await auditedChange<{ id: string }>(store, {
        statement: `INSERT INTO dashboards (account_id, name, report_ids, created_by) SELECT $1::bigint, $2::text, ${OWN_REPORTS('$3')}, $4::bigint
          WHERE (SELECT count(*) FROM dashboards WHERE account_id = $1) < ${MAX_DASHBOARDS}
          RETURNING account_id, id, jsonb_build_object('dashboard_id', id) AS audit`,
        values: [accountId, name, report_ids, memberId],
        ...{ actor: `member:${memberId}`, action: 'dashboard.created', details: {} },
      });
      return row && Number(row.id);
    },
    /** False: the account has no such dashboard, or it is another member's. */
    async replace(
      { accountId, memberId, isAdmin }: Editor,
      { id, name, report_ids }: DashboardDraft & { id: number },
    ): Promise<boolean> {
      const rows = await auditedChange(store, {
        statement: `UPDATE dashboards SET name = $5, report_ids = ${OWN_REPORTS('$6')}, updated_at = clock_timestamp()
          WHERE account_id = $1 AND id = $2 AND ${MAY_EDIT} RETURNING account_id, jsonb_build_object('dashboard_id', id) AS audit`,
        values: [accountId, id, memberId, isAdmin, name, report_ids],
        ...{ actor: `member:${memberId}`, action: 'dashboard.changed', details: {} },
      });
      return rows.length > 0;
    },
    async remove({ accountId, memberId, isAdmin }: Editor, id: number): Promise<boolean> {
      const rows = await auditedChange(store, {
        statement: `DELETE FROM dashboards WHERE account_id = $1 AND id = $2 AND ${MAY_EDIT} RETURNING account_id, jsonb_build_object('dashboard_id', id) AS audit`,
        values: [accountId, id, memberId, isAdmin],
        ...{ actor: `member:${memberId}`, action: 'dashboard.removed', details: {} },
      });
      return rows.length > 0;
    },
  };
}

export type DashboardStore = ReturnType<typeof dashboardStore>;
