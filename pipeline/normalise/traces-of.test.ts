import { afterEach, expect, it } from 'vitest';
import { decodeRecords } from '../../events/raw/decode-record.ts';
import { sampleEvent, sampleMessage, sampleRecord } from '../../events/testing/raw-records.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { traceHeaders, traceparentsOf } from '../../platform/kafka/record-headers.ts';
import { traced } from '../../platform/kafka/traced-task.ts';
import { setTracing } from '../../platform/tracing/spans.ts';
import { recordedTracing } from '../../platform/tracing/testing/recorded-tracing.ts';
import { encodeRawBatch } from '../../schemas/raw-batch.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { tracesOf } from './traces-of.ts';

afterEach(() => setTracing(undefined));

const record = (id: string) => rawRecordCodec.encode(sampleRecord([sampleEvent(id)]));

function message(offset: number, value: Buffer, traceparent: string): ConsumedMessage {
  const headers = traceHeaders([traceparent]);
  return { ...sampleMessage(value, { offset }), size: value.length, headers };
}

/** The traces of the row batch that holds the records from offset 8 to 9. */
async function tracesFrom(messages: readonly ConsumedMessage[]): Promise<string[]> {
  setTracing(recordedTracing().tracing);
  let headers: ReturnType<typeof tracesOf>;
  const task: PartitionTask = {
    from: undefined,
    process: (all) => {
      const records = all.flatMap((one) => decodeRecords(one));
      headers = tracesOf({ value: Buffer.alloc(0), rows: 1, from: 8, to: 9 }, records);
      return Promise.resolve(undefined);
    },
    release: () => Promise.resolve(),
  };
  await traced(task, { group: 'normaliser', topic: 'events.raw', partition: 3 }).process(messages);
  return traceparentsOf(headers ?? []);
}

it('a row batch continues the traces of the records that it is made of', async () => {
  const traces = await tracesFrom([7, 8, 9, 10].map((at) => message(at, record('a'), `t${at}`)));
  expect(traces).toHaveLength(2);
});

it('a raw batch has its traces once, whatever number of records it holds', async () => {
  const values = ['a', 'b', 'c'].map((id) => ({ items: 1, value: record(id) }));
  const traces = await tracesFrom([message(8, encodeRawBatch(values), 't8')]);
  expect(traces).toHaveLength(1);
});
