import type { ClickHouseClient } from '@clickhouse/client';
import { claimId, claimScope } from '../../events/claims/claim-id.ts';
import type { ClaimToLoad } from '../../events/claims/resolution.ts';

/** Spans that the window is read in: a failure repeats one of them, not everything. */
const SPANS = 8;

/** A part of the window by received_at, ms since the epoch; `until` undefined: open. */
export interface Span {
  from: number;
  until: number | undefined;
}

/**
 * The window cut into spans, oldest first; the last one is open, since clocks of gateways differ.
 */
export function spansOf(window: { from: number; now: number }): Span[] {
  const length = Math.max(1, Math.ceil((window.now - window.from) / SPANS));
  return Array.from({ length: SPANS }, (_, at) => {
    const from = window.from + at * length;
    return { from, until: at === SPANS - 1 ? undefined : from + length };
  });
}

type StoredClaim = [
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

/** A claim from a stored event: the dedupe key is the message id, or the id made on acceptance. */
export function storedClaim(line: string): ClaimToLoad {
  const [account, messageId, dedupeId, epoch, partition, offset, index, acceptance, at] =
    JSON.parse(line) as StoredClaim;
  const id =
    dedupeId === ''
      ? claimId(claimScope(account, 'message'), messageId)
      : claimId(claimScope(account, 'acceptance'), dedupeId);
  return { id, position: { epoch, partition, offset, index }, acceptance, receivedAt: at };
}

/**
 * Reads the claims of the events that are stored in a span, a bounded number at a time. Rejects
 * when ClickHouse does not answer, or stops in the middle. Rows of one span come in no particular
 * order.
 */
export async function readStoredClaims(options: {
  clickhouse: ClickHouseClient;
  span: Span;
  signal: AbortSignal;
  onChunk: (entries: ClaimToLoad[]) => Promise<void>;
}): Promise<number> {
  const { from, until } = options.span;
  const result = await options.clickhouse.query({
    query: `SELECT account_id, message_id, _dedupe_id, _epoch, _partition, _offset, _index, _acceptance, toUnixTimestamp64Milli(received_at)
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
    const entries = chunk.map((row) => storedClaim(row.text));
    await loading;
    loading = options.onChunk(entries);
    // When the stream ends first with an error, nobody waits for it any more.
    loading.catch(() => undefined);
  }
  await loading;
  return rows;
}
