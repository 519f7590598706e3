import { numericPathId } from '../../platform/http/path-id.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import type { MemberRequest, Services } from '../routes/route.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/**
 * GET /v1/audit: lines of the account, newest first. `before`: older than the line with this id;
 * `action`: those whose action begins so; `member`: those of this member; `limit`: at most 200.
 */
export async function listAudit(
  { caller, query }: MemberRequest,
  { audit }: Services,
): Promise<Answer> {
  const [before, member] = ['before', 'member'].map((name) => {
    const text = query.get(name);
    return text === null ? undefined : (numericPathId(text) ?? null);
  });
  if (before === null || member === null) return refuse('bad_id');
  const limit = Math.min(numericPathId(query.get('limit') ?? '') ?? DEFAULT_LIMIT, MAX_LIMIT);
  const action = query.get('action') ?? '';
  const lines = await audit.list(caller.account.id, {
    ...{ before, memberId: member, action, limit },
  });
  return answer({ lines, next_before: lines.length === limit ? lines.at(-1)?.id : null });
}
