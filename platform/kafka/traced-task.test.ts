import { afterEach, describe, expect, it } from 'vitest';
import { setTracing } from '../tracing/spans.ts';
import { recordedTracing } from '../tracing/testing/recorded-tracing.ts';
import type { ConsumedMessage, PartitionTask } from './consumer-types.ts';
import { traceHeaders, traceparentsOf } from './record-headers.ts';
import { spansOf, traced, tracedStep } from './traced-task.ts';

afterEach(() => setTracing(undefined));

const OF = { group: 'normaliser', topic: 'events.raw', partition: 3 };

function message(offset: number, ...traceparents: string[]): ConsumedMessage {
  return {
    ...{ topic: 'events.raw', partition: 3, offset, key: null, value: null, timestamp: 0, size: 0 },
    ...(traceparents.length === 0 ? {} : { headers: traceHeaders(traceparents) }),
  };
}

function task(process: PartitionTask['process']): PartitionTask {
  return { from: undefined, process, release: () => Promise.resolve() };
}

describe('a task', () => {
  it('stays as it is while traces are off', () => {
    const process = () => Promise.resolve(1);
    const untraced = task(process);
    expect(traced(untraced, OF)).toBe(untraced);
    expect(untraced).toEqual({ ...untraced, process });
  });

  it('has a span for each trace of a record, until the batch is processed', async () => {
    const { lines, tracing } = recordedTracing();
    setTracing(tracing);
    const messages = [message(1), message(2, 'a', 'bad', 'b')];
    const inner = task(async (all) => {
      lines.push(all.map((one) => spansOf(one).length).join());
      await tracedStep(all, { name: 'INSERT', attributes: () => ({}) }, async () => {
        lines.push('works');
        await Promise.resolve();
      });
      return 3;
    });
    expect(await traced(inner, OF).process(messages)).toBe(3);
    expect(lines).toEqual([
      ...['begin a normaliser process', 'begin b normaliser process', '0,2'],
      ...['begin a normaliser process > INSERT', 'begin b normaliser process > INSERT', 'works'],
      ...['end a normaliser process > INSERT', 'end b normaliser process > INSERT'],
      ...['end a normaliser process', 'end b normaliser process'],
    ]);
  });

  it('ends its spans when it fails, and fails', async () => {
    const { lines, tracing } = recordedTracing();
    setTracing(tracing);
    const failing = traced(
      task(() => Promise.reject(new Error('no ClickHouse'))),
      OF,
    );
    await expect(failing.process([message(1, 'a')])).rejects.toThrow('no ClickHouse');
    expect(lines.at(-1)).toBe('end a normaliser process: it was interrupted');
  });

  it('follows a bounded number of traces of one record', async () => {
    const { lines, tracing } = recordedTracing();
    setTracing(tracing);
    const many = Array.from({ length: 1000 }, (_, at) => `t${at}`);
    await traced(
      task(() => Promise.resolve(1)),
      OF,
    ).process([message(1, ...many)]);
    expect(lines).toHaveLength(2 * 32);
  });
});

it('the headers of a record name its spans, as bytes as well', () => {
  expect(traceparentsOf([{ other: 'x' }, { traceparent: Buffer.from('a') }])).toEqual(['a']);
  expect(traceparentsOf(traceHeaders(['a', 'b']))).toEqual(['a', 'b']);
});
