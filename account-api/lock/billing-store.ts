import type { Database } from '../../platform/postgres/pool.ts';
import type { ReadBilling } from './soft-lock.ts';

/**
 * The usage of an account; undefined while it is unknown. Profiles may lag by up to an hour
 * (management 3.1).
 */
export interface Usage {
  /** Events of the current Jalali month. */
  events: number | undefined;
  profiles: number | undefined;
}

export type ReadUsage = (accountId: number) => Promise<Usage>;

interface BillingRow {
  invoice_due_at: Date | null;
  payment_declared: boolean;
  included_events: string;
  included_profiles: string;
}

const READ =
  'SELECT invoice_due_at, payment_declared, included_events, included_profiles FROM accounts WHERE id = $1';

/**
 * Reads invoice and allowances from PostgreSQL and the usage from the meters. Rejects when the
 * account cannot be read.
 */
export function billingStore({
  database,
  readUsage,
}: {
  database: Database;
  readUsage: ReadUsage;
}): ReadBilling {
  return async (accountId) => {
    const [{ rows }, usage] = await Promise.all([
      database.query<BillingRow>(READ, [accountId]),
      readUsage(accountId).catch((): Usage => ({ events: undefined, profiles: undefined })),
    ]);
    const row = rows[0];
    if (!row) throw new Error(`account ${accountId} does not exist any more`);
    return {
      invoiceDueAt: row.invoice_due_at?.getTime(),
      paymentDeclared: row.payment_declared,
      includedEvents: Number(row.included_events),
      includedProfiles: Number(row.included_profiles),
      ...usage,
    };
  };
}
