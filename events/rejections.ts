import { truncateBytes } from './bytes.ts';

/**
 * Why an event or a batch is rejected (ingest 7.3). A closed set; clients match on these prefixes.
 */
export type RejectionCode =
  | 'unknown_type'
  | 'missing_identity'
  | 'missing_event_name'
  | 'event_name_too_long'
  | 'event_name_invalid_chars'
  | 'id_too_long'
  | 'missing_previous_id'
  | 'batch_too_large'
  | 'batch_empty'
  | 'timestamp_too_old';

export interface Rejection {
  code: RejectionCode;
  /** The field at fault, for the quality report; empty when the whole event is. */
  field: string;
  /** What the client reads: the code, and the sent value (unknown_type) or the counts. */
  reason: string;
}

/** A rejection whose reason is its code. */
export function rejection(code: RejectionCode, field: string): Rejection {
  return { code, field, reason: code };
}

/** The reason repeats up to 64 bytes of the sent type, quoted as JSON. */
export function unknownType(sent: string): Rejection {
  return {
    code: 'unknown_type',
    field: 'type',
    reason: `unknown_type: ${JSON.stringify(truncateBytes(sent, 64))}`,
  };
}

/** Maximum number of items in a batch (ingest 8). */
export const MAX_BATCH_ITEMS = 500;

export function batchTooLarge(items: number): Rejection {
  return {
    code: 'batch_too_large',
    field: 'batch',
    reason: `batch_too_large: ${items} items, limit ${MAX_BATCH_ITEMS}`,
  };
}
