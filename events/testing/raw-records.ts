import { rawRecordCodec } from '../../schemas/codec.ts';
import { encodeRawBatch } from '../../schemas/raw-batch.ts';
import type { RawItem, RawRecord } from '../../schemas/records.ts';
import type { SourceRecord } from '../raw/failure.ts';
import { TOPIC } from '../../schemas/topology.ts';

/** Samples for tests and for the bench. */
export type SampleEvent = Record<string, unknown> & { message_id: string };

/** A raw record as a gateway writes it: a single event, or a batch of them. */
export function sampleRecord(
  events: readonly SampleEvent[],
  changes: Partial<RawRecord> = {},
): RawRecord {
  const [only] = events;
  const isSingle = events.length === 1;
  const context = {
    library: { name: 'web', version: '1.4.0' },
    page: { url: 'https://shop.example/p/1', path: '/p/1' },
    locale: 'fa-IR',
  };
  return {
    account_id: 1,
    app_id: 2,
    write_key_id: 3,
    received_at: 1_790_000_000_000,
    source: 'sdk',
    path: isSingle ? '/v1/track' : '/v1/batch',
    ip: '192.0.2.1',
    user_agent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    origin: '',
    trace: '0123456789abcdef',
    gateway: 'gateway-1',
    sequence: 0,
    shape: isSingle ? 'single' : 'batch',
    body: Buffer.from(JSON.stringify(isSingle ? { context, ...only } : { context, batch: events })),
    items: events.map((event, at) => sampleItem(event, at)),
    redriven_from: null,
    delivery: null,
    ...changes,
  };
}

function sampleItem({ message_id, type }: SampleEvent, at: number): RawItem {
  const isKnown = type === 'identify' || type === 'page' || type === 'screen' || type === 'alias';
  return {
    at,
    index: at,
    type: isKnown ? type : 'track',
    message_id,
    generated: false,
    dedupe_id: null,
    timestamp: 1_790_000_000_000,
  };
}

/** Raw records, or bytes with a number of items, as a gateway sends them together. */
export function sampleBatch(
  records: readonly (RawRecord | { items: number; value: Buffer })[],
): Buffer {
  return encodeRawBatch(
    records.map((one) =>
      'value' in one ? one : { items: one.items.length, value: rawRecordCodec.encode(one) },
    ),
  );
}

/** The record as the consumer hands it over. */
export function sampleMessage(
  record: RawRecord | Buffer,
  position: { partition?: number; offset: number },
): SourceRecord & { size: number } {
  const value = Buffer.isBuffer(record) ? record : rawRecordCodec.encode(record);
  return {
    topic: TOPIC.raw,
    partition: 0,
    timestamp: 1_790_000_000_500,
    key: null,
    value,
    size: value.length,
    ...position,
  };
}

export function sampleEvent(messageId: string, changes: Record<string, unknown> = {}): SampleEvent {
  return {
    event: 'product_viewed',
    user_id: 'user-1',
    message_id: messageId,
    properties: { sku: 'A-1', price: 12.5 },
    ...changes,
  };
}
