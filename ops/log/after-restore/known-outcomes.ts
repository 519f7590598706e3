import { randomBytes } from 'node:crypto';
import type { ClickHouseClient } from '@clickhouse/client';
import { campaignMessageId } from '../../../events/messages/message-id.ts';
import { quotaMonth } from '../../../events/tehran-time.ts';
import { hasBit, withBits } from '../../../pipeline/dispatcher/chunk/bits.ts';
import { intakeTask } from '../../../pipeline/dispatcher/intake/task.ts';
import { writeChunks } from '../../../pipeline/dispatcher/store/write-chunks.ts';
import { topicEnds } from '../../../platform/kafka/admin.ts';
import { RangeReader } from '../../../platform/kafka/read-range.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { MessageChunk } from '../../../schemas/records.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import type { Connections } from '../../jobs/connections.ts';

const LEASE_MS = 60_000;

/** Copies the chunks since the backup from messages.planned, as the dispatcher does. */
export async function copyPlannedChunks(
  { admin, database, settings, log }: Pick<Connections, 'admin' | 'database' | 'settings' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  const reader = new RangeReader({ settings, clientId: 'ravand-operate' });
  try {
    for (const { partition, low, high } of await topicEnds(admin, TOPIC.messagesPlanned)) {
      const metrics = { copied: () => undefined, unreadable: () => undefined };
      const deps = { database, log, signal, metrics, onCopied: () => undefined };
      const task = await intakeTask(deps, partition);
      const range = { topic: TOPIC.messagesPlanned, partition, to: high };
      const from = Math.max(low, task.from ?? 0);
      for await (const records of reader.batches({ ...range, from }, signal))
        await task.process(records);
    }
  } finally {
    await reader.close();
  }
}

// The dispatcher is stopped: whoever holds a lease is gone.
const LEASE = `UPDATE message_chunks c SET leased_by = $3, leased_until = clock_timestamp() + ${LEASE_MS} * interval '1 millisecond', fence = c.fence + 1
  FROM (
    SELECT m.run_id, m.chunk FROM message_chunks m JOIN campaign_runs r ON r.id = m.run_id
    WHERE r.state IN ('planning', 'sending') AND NOT m.is_done AND (m.run_id, m.chunk) > ($1::bigint, $2::integer)
    ORDER BY m.run_id, m.chunk LIMIT 1
  ) n WHERE c.run_id = n.run_id AND c.chunk = n.chunk
  RETURNING c.run_id::float8, c.chunk, c.record, c.opened, c.opened_with, c.finished, c.retries, c.recipients, c.fence::float8`;

interface ChunkRow {
  run_id: number;
  chunk: number;
  record: Buffer;
  opened: Buffer;
  opened_with: string;
  finished: Buffer;
  retries: { index: number; attempts: number; at: number }[];
  recipients: number;
  fence: number;
}

/**
 * Gives the recipients of waiting chunks the outcomes that ClickHouse knows and this PostgreSQL
 * does not, with their counts and meters: they are sent nothing again. Answers how many.
 */
export async function takeKnownOutcomes(
  {
    database,
    find,
  }: {
    database: Pick<Database, 'query'>;
    find: (chunk: MessageChunk) => Promise<readonly KnownOutcome[]>;
  },
  signal: AbortSignal,
): Promise<number> {
  const owner = `after-restore/${randomBytes(9).toString('base64url')}`;
  let known = 0;
  for (let last = { run_id: 0, chunk: -1 }; ;) {
    signal.throwIfAborted();
    const values = [last.run_id, last.chunk, owner];
    const [row] = (await database.query<ChunkRow>(LEASE, values)).rows;
    if (!row) return known;
    last = row;
    const chunk = messageChunkCodec.decode(Buffer.from(row.record));
    const finished = Buffer.from(row.finished);
    const outcomes = new Map((await find(chunk)).map((one) => [one.message_id, one]));
    const found = chunk.recipients.flatMap(({ key }, index) => {
      const outcome = outcomes.get(messageId(chunk, key));
      return outcome && !hasBit(finished, index) ? [{ ...outcome, index }] : [];
    });
    const after = withBits(finished, { set: found.map(({ index }) => index) });
    const opened = Buffer.from(row.opened);
    const isDone = chunk.recipients.every((_, index) => hasBit(after, index));
    await writeChunks(
      database,
      [
        {
          ...{ owner, runId: row.run_id, chunk: row.chunk, fence: row.fence, isDone },
          ...{ opened, openedIfHeld: opened, openedWith: row.opened_with, finished: after },
          retries: row.retries.filter(({ index }) => !hasBit(after, index)),
          releaseUntil: Date.now(),
          counts: found.map(({ status, reason }) => ({ status, reason, messages: 1 })),
          meters: found
            .filter(({ status }) => status === 'sent')
            .map(({ finished_at }) => ({ month: quotaMonth(finished_at).key, messages: 1 })),
          ...{ capReleases: [], outcomes: Buffer.alloc(0) },
        },
      ],
      { leaseMs: LEASE_MS },
    );
    known += found.length;
  }
}

export interface KnownOutcome {
  message_id: string;
  status: string;
  reason: string;
  finished_at: number;
}

const OUTCOMES = `SELECT message_id, status, reason, toFloat64(toUnixTimestamp64Milli(finished_at)) AS finished_at FROM messages FINAL
  WHERE account_id = {account:UInt64} AND campaign_id = {campaign:UInt64} AND run_id = {run:UInt64} AND message_id BETWEEN {first:String} AND {last:String}`;

/** The outcomes of a chunk's recipients in ClickHouse. */
export async function storedOutcomes(
  clickhouse: ClickHouseClient,
  chunk: MessageChunk,
): Promise<KnownOutcome[]> {
  const ids = chunk.recipients.map(({ key }) => messageId(chunk, key));
  const answer = await clickhouse.query({
    query: OUTCOMES,
    format: 'JSONEachRow',
    query_params: {
      ...{ account: chunk.account_id, campaign: chunk.campaign_id, run: chunk.run_id },
      ...{ first: ids[0] ?? '', last: ids.at(-1) ?? '' },
    },
  });
  return await answer.json<KnownOutcome>();
}

function messageId({ campaign_id, run_id }: MessageChunk, key: string): string {
  return campaignMessageId({ campaignId: campaign_id, runId: run_id, key });
}
