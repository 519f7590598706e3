import type { ClickHouseClient } from '@clickhouse/client';
import { claimId, claimScope } from '../../events/claims/claim-id.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import type { LogRange, RangeReader } from '../../platform/kafka/read-range.ts';
import { hasUnknownSchema, rowBatchCodec, UnreadableRecord } from '../../schemas/codec.ts';
import type { ClaimToLoad } from '../../events/claims/resolution.ts';

/** The window is read in this many spans: a failure repeats one span, not the whole window. */
const SPANS = 8;

/** A range of received_at, ms since the epoch; open-ended when `until` is undefined. */
export interface Span {
  from: number;
  until: number | undefined;
}

/** Splits the window into spans, oldest first; the last one is open-ended, since clocks differ. */
export function spansOf(window: { from: number; now: number }): Span[] {
  const length = Math.max(1, Math.ceil((window.now - window.from) / SPANS));
  return Array.from({ length: SPANS }, (_, at) => {
    const from = window.from + at * length;
    return { from, until: at === SPANS - 1 ? undefined : from + length };
  });
}

/** What a claim is made of, in the order of StoredClaim. */
export const STORED_CLAIM_COLUMNS =
  'account_id, message_id, _dedupe_id, _epoch, _partition, _offset, _index, _acceptance, toUnixTimestamp64Milli(received_at)';

/** received_at in ms since the epoch. */
export type StoredClaim = [
  account: number,
  messageId: string,
  dedupeId: string,
  epoch: number,
  partition: number,
  offset: number,
  index: number,
  acceptance: number,
  receivedAt: number,
];

/** The claim of a stored event; the dedupe key is the one that `claimsToResolve` uses. */
export function storedClaim(line: string): ClaimToLoad {
  return claimOf(JSON.parse(line) as StoredClaim);
}

function claimOf([
  account,
  messageId,
  dedupeId,
  epoch,
  partition,
  offset,
  index,
  acceptance,
  receivedAt,
]: StoredClaim): ClaimToLoad {
  const id =
    dedupeId === ''
      ? claimId(claimScope(account, 'message'), messageId)
      : claimId(claimScope(account, 'acceptance'), dedupeId);
  return { id, position: { epoch, partition, offset, index }, acceptance, receivedAt };
}

/** The claims of the rows in a record of events.normalised; none when it cannot be decoded. */
function claimsOfRowBatch({ value }: ConsumedMessage): ClaimToLoad[] {
  if (value === null) return [];
  try {
    return rowBatchCodec
      .decode(value)
      .rows.map((row) =>
        claimOf([
          ...([
            row.account_id,
            row.message_id,
            row._dedupe_id,
            row._epoch,
            row._partition,
          ] as const),
          ...([row._offset, row._index, row._acceptance, row.received_at] as const),
        ]),
      );
  } catch (error) {
    // Not written by a normaliser: the sink makes a dead letter of it, and no claim is in it.
    if (error instanceof UnreadableRecord) return [];
    throw error;
  }
}

/**
 * Reads the claims of the rows in a range of events.normalised, in the order of the log. Resolves
 * with undefined at a record of a newer release.
 */
export async function readLoggedClaims(options: {
  reader: Pick<RangeReader, 'batches'>;
  range: LogRange;
  signal: AbortSignal;
  onChunk: (claims: ClaimToLoad[]) => Promise<void>;
}): Promise<number | undefined> {
  let rows = 0;
  for await (const messages of options.reader.batches(options.range, options.signal)) {
    if (messages.some(({ value }) => hasUnknownSchema(value))) return undefined;
    const claims = messages.flatMap(claimsOfRowBatch);
    rows += claims.length;
    await options.onChunk(claims);
  }
  return rows;
}

/**
 * Reads the claims of the events stored in a span, a bounded number at a time and in no particular
 * order. Rejects when ClickHouse does not answer or the stream breaks.
 */
export async function readStoredClaims(options: {
  clickhouse: ClickHouseClient;
  span: Span;
  signal: AbortSignal;
  onChunk: (claims: ClaimToLoad[]) => Promise<void>;
}): Promise<number> {
  const { from, until } = options.span;
  const result = await options.clickhouse.query({
    query: `SELECT ${STORED_CLAIM_COLUMNS}
      FROM events WHERE received_at >= fromUnixTimestamp64Milli({from: Int64}, 'UTC')${
        until === undefined
          ? ''
          : ` AND received_at < fromUnixTimestamp64Milli({until: Int64}, 'UTC')`
      }`,
    query_params: { from, ...(until === undefined ? {} : { until }) },
    format: 'JSONCompactEachRow',
    clickhouse_settings: {
      output_format_json_quote_64bit_integers: 0,
      max_block_size: '16384',
      max_execution_time: 0,
    },
    abort_signal: options.signal,
  });
  let rows = 0;
  // One chunk is loaded while the next one is read.
  let loading = Promise.resolve();
  for await (const chunk of result.stream()) {
    options.signal.throwIfAborted();
    rows += chunk.length;
    const claims = chunk.map((row) => storedClaim(row.text));
    await loading;
    loading = options.onChunk(claims);
    // If the stream breaks first, nothing awaits this promise.
    loading.catch(() => undefined);
  }
  await loading;
  return rows;
}
