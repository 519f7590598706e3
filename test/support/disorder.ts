import type { ClickHouseClient } from '@clickhouse/client';
import { rows } from './stack.ts';

/**
 * People of an account whose stored events are in another order than they were sent (G3). A client
 * that sends a person's next request after the answer to the previous one numbers the events in
 * `seq`: their positions in the log have the order of the numbers.
 */
export async function peopleInDisorder(
  client: ClickHouseClient,
  accountId: number,
): Promise<string[]> {
  const found = await rows<{ person: string }>(
    client,
    `SELECT user_id AS person FROM (
       SELECT user_id, groupArray(property_numbers['seq']) AS seqs
       FROM (SELECT user_id, property_numbers, _epoch, _partition, _offset, _index FROM events WHERE account_id = {a:UInt64} ORDER BY user_id, _epoch, _partition, _offset, _index)
       GROUP BY user_id)
     WHERE seqs != arraySort(seqs)`,
    { a: accountId },
  );
  return found.map(({ person }) => person);
}
