import type { Store } from '../store.ts';

export interface AuditLine {
  id: number;
  at: string;
  /** `member:ID`, `key:ID`, `operator`. */
  actor: string;
  /** Of a member of this account; null: of no member, or of a former one. */
  email: string | null;
  action: string;
  details: unknown;
}

export interface AuditQuery {
  /** Lines with a smaller id. */
  before: number | undefined;
  memberId: number | undefined;
  /** Beginning of the action; empty: any. */
  action: string;
  limit: number;
}

/** Audit lines of one account. */
export function auditStore(store: Store) {
  return {
    async list(
      accountId: number,
      { before, memberId, action, limit }: AuditQuery,
    ): Promise<AuditLine[]> {
      const { rows } = await store.query<Omit<AuditLine, 'id' | 'at'> & { id: string; at: Date }>(
        `SELECT l.id, l.at, l.actor, p.email, l.action, l.details FROM audit_lines l
         LEFT JOIN memberships m ON m.account_id = l.account_id AND l.actor = 'member:' || m.member_id
         LEFT JOIN members p ON p.id = m.member_id
         WHERE l.account_id = $1 AND ($2::bigint IS NULL OR l.id < $2) AND ($3::text IS NULL OR l.actor = $3) AND starts_with(l.action, $4)
         ORDER BY l.id DESC LIMIT $5`,
        [
          ...[accountId, before ?? null, memberId === undefined ? null : `member:${memberId}`],
          ...[action, limit],
        ],
      );
      return rows.map(({ id, at, ...line }) => ({ id: Number(id), at: at.toISOString(), ...line }));
    },
  };
}

export type AuditStore = ReturnType<typeof auditStore>;
