import { acceptanceHash, gatewaySeed } from '../claims/acceptance.ts';
import { claimId, claimScope, type ClaimId, type ClaimKind } from '../claims/claim-id.ts';
import type { ClaimToResolve } from '../claims/resolution.ts';
import type { RawItem, RawRecord } from '../../schemas/records.ts';
import type { DecodeResult } from './decode-record.ts';
import { firstIndexOf } from './failure.ts';

/** The epoch of a record of events.raw. */
export type EpochOf = (partition: number, offset: number) => number;

/** With what finds the stored row of its dedupe key. */
export interface ClaimOfEvent extends ClaimToResolve {
  readonly account: number;
  readonly kind: ClaimKind;
  readonly key: string;
}

/** The claim of an item's dedupe key: the client's message id, or the id of its acceptance. */
export function claimOf(
  { account_id: account }: Pick<RawRecord, 'account_id'>,
  item: Pick<RawItem, 'dedupe_id' | 'message_id'>,
): ClaimId {
  return item.dedupe_id === null
    ? claimId(claimScope(account, 'message'), item.message_id)
    : claimId(claimScope(account, 'acceptance'), item.dedupe_id);
}

/**
 * The claims of a batch of records: one per item of every decodable record, ordered by position.
 * The dedupe key is the client's message id, or the id generated on acceptance; the two kinds never
 * collide (ARCHITECTURE.md, G2).
 */
export function claimsToResolve(
  results: readonly DecodeResult[],
  epochOf: EpochOf,
): ClaimOfEvent[] {
  const claims: ClaimOfEvent[] = [];
  for (const result of results) {
    if (result.state !== 'decoded') continue;
    const { record, source } = result;
    const messages = claimScope(record.account_id, 'message');
    const acceptances = claimScope(record.account_id, 'acceptance');
    const seed = gatewaySeed(record.gateway);
    const { partition, offset } = source;
    const epoch = epochOf(partition, offset);
    const firstIndex = firstIndexOf(source);
    let index = -1;
    for (const item of record.items) {
      index++;
      const isMessage = item.dedupe_id === null;
      const key = item.dedupe_id ?? item.message_id;
      const claim: ClaimOfEvent = {
        id: claimId(isMessage ? messages : acceptances, key),
        account: record.account_id,
        kind: isMessage ? 'message' : 'acceptance',
        key,
        position: { epoch, partition, offset, index: firstIndex + index },
        acceptance: acceptanceHash(seed, record.sequence + index),
        receivedAt: record.received_at,
      };
      const first = record.redriven_from;
      // A redriven record has the items of the original record in their original order.
      claims.push(
        first === null
          ? claim
          : { ...claim, redrivenFrom: { ...first, index: first.index + index } },
      );
    }
  }
  return claims;
}
