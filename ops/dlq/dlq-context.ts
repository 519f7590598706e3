import { CommandError } from '../../cli/command.ts';
import { recordAudit } from '../../platform/audit.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { OperatorContext } from '../operator-context.ts';
import type { DeadLetterStore } from './dead-letter-store.ts';
import { findGroup, groupsOf, type DeadLetterGroup } from './groups.ts';

/** What the verbs of `./ravand dlq` need. */
export interface DlqContext {
  operator: OperatorContext;
  database: Database;
  reader: RangeReader;
  store: DeadLetterStore;
  /** Undefined: dead letters of all accounts. */
  accountId: number | undefined;
  json: boolean;
}

/** The only group of that name, or of a dead letter of that name. Throws a CommandError. */
export async function requireGroup({ store }: DlqContext, name: string): Promise<DeadLetterGroup> {
  const found = findGroup(groupsOf(await store.counts()), name);
  switch (found.kind) {
    case 'one':
      return found.group;
    case 'none':
      throw new CommandError(
        `there is no group or dead letter ${JSON.stringify(name)}: ./ravand dlq lists the groups`,
      );
    case 'several':
      throw new CommandError(
        `${JSON.stringify(name)} is ${found.groups.map(({ group }) => group).join(' and ')}: name one of them`,
      );
  }
}

export function audit(
  { database, accountId }: Pick<DlqContext, 'database' | 'accountId'>,
  line: { action: string; details: Record<string, unknown> },
): Promise<void> {
  return recordAudit(database, { accountId: accountId ?? null, actor: 'operator', ...line });
}
