import type { Database } from './postgres/pool.ts';

export interface AuditLine {
  /** Account that the line is about; null: the installation. */
  accountId: number | null;
  /** `operator` for a command line, `member:ID` for a signed-in person. */
  actor: string;
  /** Past tense, dotted: `relay.saved`, `replay.started`. */
  action: string;
  /** What a reader needs to understand the decision. Never a secret, never a person's data. */
  details: Readonly<Record<string, unknown>>;
}

/**
 * Writes one line of the audit log (table audit_lines); rejects when PostgreSQL does, so that what
 * is not on record is not done.
 */
export async function recordAudit(
  database: Pick<Database, 'query'>,
  line: AuditLine,
): Promise<void> {
  await database.query(
    'INSERT INTO audit_lines (account_id, actor, action, details) VALUES ($1, $2, $3, $4)',
    [line.accountId, line.actor, line.action, JSON.stringify(line.details)],
  );
}
