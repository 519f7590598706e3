import { readJsonFile } from '../../cli/json-file.ts';
import type { Home } from '../../cli/stack/home.ts';
import type { StackPlan } from '../../cli/stack/stack-plan.ts';
import { printError } from '../../cli/terminal.ts';
import { recordAudit } from '../../platform/audit.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';

/** A stop must work while PostgreSQL does not answer, ms. */
const TIMEOUT_MS = 3000;

/**
 * Writes an audit line about the stack of a home. Without PostgreSQL it says so and goes on: what
 * is stopped may be PostgreSQL itself.
 */
export async function auditStack(
  home: Home,
  line: { action: string; details: Readonly<Record<string, unknown>> },
): Promise<void> {
  const plan = readJsonFile<StackPlan>(home.planFile);
  if (plan === undefined) return;
  const database = connectPostgres({
    url: plan.database_url,
    log: createLog({ part: 'audit', level: 'fatal' }),
    name: 'ravand-audit',
    max: 1,
  });
  try {
    const written = recordAudit(database, { accountId: null, actor: 'operator', ...line });
    await withDeadline({ ms: TIMEOUT_MS, waitingFor: 'PostgreSQL' }, written);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    printError(`${line.action} is not in ./ravand changes: PostgreSQL does not answer (${why})`);
  } finally {
    // A connection that hangs must not hold the command up.
    void database.end().catch(() => undefined);
  }
}
