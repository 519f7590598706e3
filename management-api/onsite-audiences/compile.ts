import { visitorSql } from '../../events/channels/onsite/visitor.ts';
import { audienceNames, compileAudience, type CompileContext } from '../../audiences/compile.ts';
import type { Audience } from '../../audiences/definition.ts';

/**
 * The statement that answers the hashes of all names of all members of an audience, ascending, each
 * once, as UInt64 in little-endian order: at most `limit`.
 */
export function compileMembers(
  { audience, limit }: { audience: Audience; limit: number },
  context: CompileContext,
): string {
  const { params, merges } = context;
  const account = params.whole(context.accountId);
  const where = `account_id = ${account} AND (${compileAudience(audience, context)})`;
  const people = `(${audienceNames(where, context)}SELECT person FROM people WHERE ${where}) AS members`;
  const hashes =
    merges === 'none'
      ? `SELECT ${visitorSql(account, 'person')} AS name FROM ${people}`
      : `SELECT ${visitorSql(account, 'arrayJoin(arrayPushBack(others, person))')} AS name FROM ${people}
         LEFT JOIN (SELECT canonical, groupArray(name) AS others FROM identities_flat FINAL
           WHERE account_id = ${account} AND name != canonical GROUP BY canonical) AS merged ON person = canonical`;
  return `SELECT DISTINCT name FROM (${hashes}) ORDER BY name LIMIT ${params.whole(limit)} FORMAT RowBinary`;
}
