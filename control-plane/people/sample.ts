import { audienceNames, compileAudience } from '../../audiences/compile.ts';
import { dayOf } from '../../audiences/conditions/time-zone.ts';
import { readAudience } from '../../audiences/read.ts';
import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { orUnavailable } from '../routes/or-unavailable.ts';
import type { MemberRequest, Services } from '../routes/route.ts';

const SAMPLE = 10;

/** POST /v1/audiences/sample: some of the people that a definition selects, seen last first. */
export async function sampleAudience(request: MemberRequest, services: Services): Promise<Answer> {
  const { caller, body, now, signal } = request;
  const outcome = readAudience(body);
  if (!outcome.ok) return refuse('invalid_request', { message: outcome.message });
  const accountId = caller.account.id;
  return await orUnavailable({ request, services, code: 'sample_failed' }, async () => {
    const params = new SqlParams();
    const merges = await services.mergesOf(accountId, signal);
    const context = { accountId, now, today: dayOf(now, 'Asia/Tehran'), merges, params };
    const where = `account_id = ${params.whole(accountId)} AND (${compileAudience(outcome.audience.root, context)})`;
    const sql = `${audienceNames(where, context)}SELECT person, trim(concat(first_name, ' ', last_name)) AS name, toUnixTimestamp64Milli(last_seen) AS last
      FROM people WHERE ${where} ORDER BY last_seen DESC, person LIMIT ${SAMPLE}`;
    const people = await services.readMany<{ person: string; name: string; last: number }>(
      { sql, params: params.values() },
      { accountId, signal },
    );
    return answer({ people });
  });
}
