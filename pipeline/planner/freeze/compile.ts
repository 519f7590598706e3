import { audienceNames, compileAudience, type CompileContext } from '../../../audiences/compile.ts';
import type { Audience } from '../../../audiences/definition.ts';
import { controlGroupSql } from '../../../events/messages/control-group.ts';

/** Whose audience is frozen, as which rows. */
export interface FreezeQuery {
  accountId: number;
  campaignId: number;
  runId: number;
  attempt: number;
  audience: Audience;
  /** Of the control group. */
  percent: number;
  /** ms since the epoch: the reference time of the audience, and when it is frozen. */
  at: number;
}

/**
 * The statement that freezes an audience into a table like campaign_recipients, in no order: the
 * table sorts. `key` is personKey (events/messages/message-id.ts). The canonical id of a person
 * with several distinct ids is the user_id of an alias, so it serves as user_id, too.
 */
export function compileFreeze(
  { into, campaignId, runId, attempt, audience, percent, at }: FreezeQuery & { into: string },
  context: CompileContext,
): string {
  const { params } = context;
  const account = params.whole(context.accountId);
  const where = `account_id = ${account} AND (${compileAudience(audience, context)})`;
  const columns = [
    ...[account, params.whole(runId), params.whole(attempt)],
    'substring(lower(hex(SHA256(person))), 1, 32)',
    ...['person', 'person'],
    ...[controlGroupSql({ campaignId, percent }, 'person'), params.instant(at)],
  ];
  return `INSERT INTO ${into} (account_id, run_id, attempt, key, person_id, user_id, is_control, frozen_at)
    ${audienceNames(where, context)}SELECT ${columns.join(', ')} FROM people WHERE ${where}`;
}
