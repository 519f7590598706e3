import type { ClickHouseClient } from '@clickhouse/client';
import type { Database } from '../../../platform/postgres/pool.ts';
import { messageOutcomeCodec } from '../../../schemas/codec.ts';
import { rows } from '../stack.ts';

/**
 * The outcomes of an account's messages, `message_id status` each, from whichever place they have
 * reached: the outbox, or the table that the log of outcomes is projected to. One that is in both
 * counts once, and one that is in a place twice twice.
 */
export async function outcomesOf(
  { database, client }: { database: Pick<Database, 'query'>; client: ClickHouseClient },
  accountId: number,
): Promise<string[]> {
  const { rows: boxes } = await database.query<{ outcomes: Buffer }>(
    'SELECT outcomes FROM message_outbox WHERE account_id = $1',
    [accountId],
  );
  const waiting = boxes.flatMap(({ outcomes }) => framesOf(outcomes)).map(lineOf);
  const projected = await rows<{ message_id: string; status: string }>(
    client,
    'SELECT message_id, status FROM messages FINAL WHERE account_id = {account:UInt64}',
    { account: accountId },
  );
  const stored = projected.map(({ message_id, status }) => `${message_id} ${status}`);
  const known = new Set(stored);
  return [...stored, ...waiting.filter((line) => !known.has(line))];
}

function lineOf(record: Buffer): string {
  const { message_id, status } = messageOutcomeCodec.decode(record);
  return `${message_id} ${status}`;
}

/** Each record is behind its length. */
function framesOf(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 + bytes.readUInt32BE(at);
    frames.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return frames;
}
