import type { Database } from './postgres/pool.ts';

export interface AuditLine {
  /** Account of the change; null: the installation. */
  accountId: number | null;
  /** `operator` for the command line, `member:ID` for a signed-in member. */
  actor: string;
  /** Past tense, dotted: `relay.saved`, `replay.started`. */
  action: string;
  /** What a reader needs to understand the change. Never a secret or personal data. */
  details: Readonly<Record<string, unknown>>;
}

/** Writes a line of audit_lines; when it rejects, the audited change must not happen. */
export async function recordAudit(
  database: Pick<Database, 'query'>,
  line: AuditLine,
): Promise<void> {
  await database.query(
    'INSERT INTO audit_lines (account_id, actor, action, details) VALUES ($1, $2, $3, $4)',
    [line.accountId, line.actor, line.action, JSON.stringify(line.details)],
  );
}
