import { acceptanceHash, gatewaySeed } from '../claims/acceptance.ts';
import { claimId, claimScope } from '../claims/claim-id.ts';
import type { ClaimToResolve } from '../claims/resolution.ts';
import type { DecodeResult } from './decode-record.ts';

/**
 * What a batch asks the claims for, in the order of places: one entry for every item of every
 * record that could be read. The dedupe key is the message id, or the id made on acceptance; the
 * two kinds never meet (DESIGN.md, "Claims in two states").
 */
export function claimsToResolve(
  readings: readonly DecodeResult[],
  epoch: number,
): ClaimToResolve[] {
  const entries: ClaimToResolve[] = [];
  for (const reading of readings) {
    if (reading.state !== 'read') continue;
    const { record, source } = reading;
    const messages = claimScope(record.account_id, 'message');
    const acceptances = claimScope(record.account_id, 'acceptance');
    const seed = gatewaySeed(record.gateway);
    const from = record.redriven_from;
    for (const [index, item] of record.items.entries()) {
      const entry = {
        id:
          item.dedupe_id === null
            ? claimId(messages, item.message_id)
            : claimId(acceptances, item.dedupe_id),
        position: { epoch, partition: source.partition, offset: source.offset, index },
        acceptance: acceptanceHash(seed, record.sequence + index),
        receivedAt: record.received_at,
      };
      // A redriven letter of a whole record holds the items of the old record in their old order.
      entries.push(
        from === null ? entry : { ...entry, redrivenFrom: { ...from, index: from.index + index } },
      );
    }
  }
  return entries;
}
