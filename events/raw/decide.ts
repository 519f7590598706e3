import type { ClaimResolution } from '../claims/resolution.ts';
import { isJsonObject } from '../json.ts';
import { normaliseEvent, type ContextReader } from '../normalise.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { EventRow } from '../../schemas/records.ts';
import type { DeadReason } from './failure.ts';
import type { DecodedRecord } from './decode-record.ts';

/** What becomes of one accepted event. `drop`: it is in the log already, at another place. */
export type ItemDecision =
  | { readonly step: 'ok'; readonly row: EventRow }
  | { readonly step: 'drop'; readonly why: 'repeat' | 'duplicate' }
  | { readonly step: 'dead'; readonly reason: DeadReason; readonly detail: string };

const REPEAT: ItemDecision = { step: 'drop', why: 'repeat' };
const DUPLICATE: ItemDecision = { step: 'drop', why: 'duplicate' };

export interface ItemInput {
  decoded: DecodedRecord;
  /** Position in the items of the record. */
  index: number;
  position: LogPosition;
  acceptance: number;
  resolution: ClaimResolution;
}

/**
 * Decides one event. A replay is published again: the attempt that claimed may have died before it
 * published, and consumers skip places that they have. Whatever the normalisation throws is a
 * property of the event, since it is pure: the event is dead, and the partition moves on.
 */
export function decideItem(
  { decoded: reading, index, position: place, acceptance, resolution: settlement }: ItemInput,
  contexts: ContextReader,
): ItemDecision {
  switch (settlement.verdict) {
    case 'repeat':
      return REPEAT;
    case 'duplicate':
      return DUPLICATE;
    case 'first':
    case 'replay': {
      const { record, envelopes, batchContext } = reading;
      const item = record.items[index];
      if (item === undefined) throw new Error(`the record has no item ${index}`);
      const envelope = envelopes[item.at];
      if (!isJsonObject(envelope))
        return {
          step: 'dead',
          reason: 'item_missing',
          detail: `the body holds no event at position ${item.at}`,
        };
      try {
        return {
          step: 'ok',
          row: normaliseEvent(
            { record, item, envelope, batchContext, place, acceptance },
            contexts,
          ),
        };
      } catch (error) {
        return {
          step: 'dead',
          reason: 'not_normalisable',
          detail: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
        };
      }
    }
  }
}
