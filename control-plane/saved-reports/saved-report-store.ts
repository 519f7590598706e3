import { auditedChange } from '../../platform/audited-change.ts';
import type { Store } from '../store.ts';

export const REPORT_KINDS = ['funnel', 'retention', 'trends', 'paths'] as const;
export type ReportKind = (typeof REPORT_KINDS)[number];

/** Of one account. */
export const MAX_SAVED_REPORTS = 500;

export interface SavedReport {
  id: number;
  name: string;
  kind: ReportKind;
  /** The state of the page, as its URL has it. */
  definition: unknown;
  /** E-mail address; null: the member has left. */
  created_by: string | null;
  updated_at: string;
}

export interface ReportDraft {
  name: string;
  kind: ReportKind;
  /** JSON text. */
  definition: string;
}

interface Author {
  accountId: number;
  memberId: number;
}

/** Who changes a report: its author, or with `isAdmin` anybody's. */
export interface Editor extends Author {
  isAdmin: boolean;
}

const MAY_EDIT = '(created_by = $3::bigint OR $4::boolean)';

/** Saved reports of an account; a change and its audit line are one statement. */
export function savedReportStore(store: Store) {
  return {
    /** Most recently changed first. */
    async list(accountId: number): Promise<SavedReport[]> {
      const { rows } = await store.query<
        Omit<SavedReport, 'id' | 'updated_at'> & { id: string; updated_at: Date }
      >(
        `SELECT r.id, r.name, r.kind, r.definition, p.email AS created_by, r.updated_at FROM saved_reports r LEFT JOIN members p ON p.id = r.created_by
         WHERE r.account_id = $1 ORDER BY r.updated_at DESC, r.id DESC LIMIT ${MAX_SAVED_REPORTS}`,
        [accountId],
      );
      return rows.map(({ id, updated_at, ...report }) => ({
        ...{ id: Number(id), updated_at: updated_at.toISOString(), ...report },
      }));
    },
    /** Undefined: the account has as many as it may. */
    async create(
      { accountId, memberId }: Author,
      { name, kind, definition }: ReportDraft,
    ): Promise<number | undefined> {
      const [row] = await auditedChange<{ id: string }>(store, {
        statement: `INSERT INTO saved_reports (account_id, name, kind, definition, created_by) SELECT $1::bigint, $2::text, $3::text, $4::json, $5::bigint
          WHERE (SELECT count(*) FROM saved_reports WHERE account_id = $1) < ${MAX_SAVED_REPORTS}
          RETURNING account_id, id, jsonb_build_object('saved_report_id', id) AS audit`,
        values: [accountId, name, kind, definition, memberId],
        ...{ actor: `member:${memberId}`, action: 'saved_report.created', details: { kind } },
      });
      return row && Number(row.id);
    },
    /** False: the account has no such report, or it is another member's. */
    async replace(
      { accountId, memberId, isAdmin }: Editor,
      { id, name, kind, definition }: ReportDraft & { id: number },
    ): Promise<boolean> {
      const rows = await auditedChange(store, {
        statement: `UPDATE saved_reports SET name = $5, kind = $6, definition = $7::json, updated_at = clock_timestamp() WHERE account_id = $1 AND id = $2 AND ${MAY_EDIT}
          RETURNING account_id, jsonb_build_object('saved_report_id', id) AS audit`,
        values: [accountId, id, memberId, isAdmin, name, kind, definition],
        ...{ actor: `member:${memberId}`, action: 'saved_report.changed', details: { kind } },
      });
      return rows.length > 0;
    },
    async remove({ accountId, memberId, isAdmin }: Editor, id: number): Promise<boolean> {
      const rows = await auditedChange(store, {
        statement: `DELETE FROM saved_reports WHERE account_id = $1 AND id = $2 AND ${MAY_EDIT} RETURNING account_id, jsonb_build_object('saved_report_id', id) AS audit`,
        values: [accountId, id, memberId, isAdmin],
        ...{ actor: `member:${memberId}`, action: 'saved_report.removed', details: {} },
      });
      return rows.length > 0;
    },
  };
}

export type SavedReportStore = ReturnType<typeof savedReportStore>;
