import { parseRfc3339 } from '../../events/rfc3339.ts';
import type { OrderedItem } from '../traffic/ordered-batches.ts';

const TYPES = ['track', 'identify', 'page', 'screen', 'alias'];
const ORDER_KEYS = 64;

export type Envelope = Record<string, unknown> & { type: string };

/** Reads a line of NDJSON: an envelope (ingest 2.1) with one of the five types, or undefined. */
export function parseEnvelope(line: string): Envelope | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const envelope = value as Envelope;
  return TYPES.includes(envelope.type) ? envelope : undefined;
}

/** Time of an envelope, ms since the epoch; undefined when it has none that can be read. */
export function envelopeTime(envelope: Envelope): number | undefined {
  const timestamp = envelope['timestamp'];
  const time = typeof timestamp === 'string' ? parseRfc3339(timestamp) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** The envelope as it is sent: with a message id where it has none, and its time moved. */
export function envelopeItem(envelope: Envelope, messageId: string, shift: number): OrderedItem {
  const time = envelopeTime(envelope);
  const moved =
    shift !== 0 && time !== undefined ? { timestamp: new Date(time + shift).toISOString() } : {};
  const own = envelope['message_id'];
  const person = JSON.stringify(envelope['user_id'] ?? envelope['anonymous_id'] ?? '');
  let hash = 0;
  for (let at = 0; at < person.length; at++)
    hash = (Math.imul(hash, 31) + person.charCodeAt(at)) | 0;
  return {
    orderKey: String((hash >>> 0) % ORDER_KEYS),
    userAgent: undefined,
    item: {
      ...envelope,
      ...moved,
      message_id: typeof own === 'string' && own !== '' ? own : messageId,
    },
  };
}
