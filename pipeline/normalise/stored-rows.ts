import type { ClickHouseClient } from '@clickhouse/client';
import { samePosition } from '../../events/claims/position-bytes.ts';
import type { StoredAnswer } from '../../events/claims/resolution.ts';
import type { ClaimOfEvent } from '../../events/raw/record-claims.ts';
import { StoredRowsUnavailable, type PackedClaim } from './resolve-from.ts';
import { STORED_CLAIM_COLUMNS, type StoredClaim } from './stored-claims.ts';

/** Keys of one query. */
const KEYS = 500;
/** ms. A query reads rows of some accounts, received in about a sixteenth of the window. */
const QUERY_MS = 10_000;

type Answer = Exclude<StoredAnswer, 'ask'>;

/**
 * Of each packed claim the stored row: with its dedupe key, and received when claims of its part
 * were. Of several the one at the position of the event, else at that of which it was redriven,
 * else the latest. Rejects with StoredRowsUnavailable.
 */
export async function readStoredRows(
  claims: readonly PackedClaim[],
  options: { clickhouse: ClickHouseClient; dedupeTtl: number; signal: AbortSignal },
): Promise<Answer[]> {
  const answers = new Map<PackedClaim, Answer>();
  // Neighbours in time, so that each query reads a short one.
  const sorted = claims.toSorted((a, b) => a.since - b.since);
  for (let from = 0; from < sorted.length; from += KEYS) {
    const some = sorted.slice(from, from + KEYS);
    const rows = Map.groupBy(await query(some, options), keyOfRow);
    for (const one of some)
      answers.set(one, answerOf(one, rows.get(keyOf(one.claim)) ?? [], options.dedupeTtl));
  }
  return claims.map((one) => answers.get(one) ?? 'none');
}

function answerOf(
  { claim, since, until }: PackedClaim,
  rows: readonly StoredClaim[],
  dedupeTtl: number,
): Answer {
  const held = rows
    .map(([, , , epoch, partition, offset, index, acceptance, receivedAt]) => ({
      ...{ position: { epoch, partition, offset, index }, acceptance, receivedAt },
    }))
    .filter(({ receivedAt }) => receivedAt + dedupeTtl >= since && receivedAt + dedupeTtl <= until)
    .sort((a, b) => b.receivedAt - a.receivedAt);
  const at = (position: ClaimOfEvent['redrivenFrom']) =>
    position && held.find((row) => samePosition(row.position, position));
  return at(claim.position) ?? at(claim.redrivenFrom) ?? held[0] ?? 'none';
}

async function query(
  packed: readonly PackedClaim[],
  {
    clickhouse,
    dedupeTtl,
    signal,
  }: { clickhouse: ClickHouseClient; dedupeTtl: number; signal: AbortSignal },
): Promise<StoredClaim[]> {
  const claims = packed.map(({ claim }) => claim);
  const keys = (kind: ClaimOfEvent['kind']) =>
    claims.filter((one) => one.kind === kind).map(({ key }) => key);
  const [messages, acceptances] = [keys('message'), keys('acceptance')];
  // Only `message_id` has an index, so the other kind must not hide it.
  const of = [
    ...(messages.length > 0 ? [`message_id IN {messages:Array(String)} AND _dedupe_id = ''`] : []),
    ...(acceptances.length > 0 ? ['_dedupe_id IN {acceptances:Array(String)}'] : []),
  ];
  try {
    const result = await clickhouse.query({
      query: `SELECT ${STORED_CLAIM_COLUMNS}
        FROM events WHERE account_id IN {accounts:Array(UInt64)}
          AND received_at >= fromUnixTimestamp64Milli({after:Int64}, 'UTC') AND received_at <= fromUnixTimestamp64Milli({before:Int64}, 'UTC')
          AND (${of.join(' OR ')})`,
      query_params: {
        accounts: [...new Set(claims.map(({ account }) => account))],
        after: Math.min(...packed.map(({ since }) => since)) - dedupeTtl,
        before: Math.max(...packed.map(({ until }) => until)) - dedupeTtl,
        ...{ messages, acceptances },
      },
      format: 'JSONCompactEachRow',
      clickhouse_settings: {
        output_format_json_quote_64bit_integers: 0,
        max_execution_time: QUERY_MS / 1000,
      },
      abort_signal: AbortSignal.any([signal, AbortSignal.timeout(QUERY_MS)]),
    });
    return await result.json<StoredClaim>();
  } catch (error) {
    signal.throwIfAborted();
    throw new StoredRowsUnavailable(error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}

const keyOf = ({ account, kind, key }: ClaimOfEvent) => `${account} ${kind} ${key}`;

function keyOfRow([account, messageId, dedupeId]: StoredClaim): string {
  return dedupeId === '' ? `${account} message ${messageId}` : `${account} acceptance ${dedupeId}`;
}
