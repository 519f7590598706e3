import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sliceItems, type Slice } from './slice-items.ts';

/** The values of a body's slices. */
function parsed(text: string): { items: unknown[]; context: unknown; sent_at: unknown } {
  const body = Buffer.from(text);
  const value = (slice: Slice | undefined) =>
    slice ? (JSON.parse(body.toString('utf8', slice.start, slice.end)) as unknown) : undefined;
  const { items, context, sentAt } = sliceItems(body, 'batch');
  return { items: items.map(value), context: value(context), sent_at: value(sentAt) };
}

function expected(text: string): ReturnType<typeof parsed> {
  const { batch, context, sent_at } = JSON.parse(text) as {
    batch: unknown[];
    context?: unknown;
    sent_at?: unknown;
  };
  return { items: batch, context, sent_at };
}

describe('the slices of a batch', () => {
  it.each([
    ['without items', '{"batch":[]}'],
    ['with space everywhere', ' {\n"batch" :\t[ {"a" : 1 } , 2 ,\r "x" ] , "sent_at" : "t" } '],
    ['scalars of all kinds', '{"batch":[1,-2.5e+3,true,false,null,"",[],{}]}'],
    [
      'brackets, quotes and backslashes in strings',
      String.raw`{"batch":[{"a":"]}\"\\"},{"b\"}":"[{\\\""}],"context":{"x":"}"}}`,
    ],
    ['an escaped key', String.raw`{"b\u0061tch":[1],"cont\u0065xt":{}}`],
    [
      'equal keys: the last one counts',
      '{"batch":[1,2],"context":1,"batch":[3],"context":{"a":2}}',
    ],
    ['equal keys of different kinds', '{"batch":5,"batch":[3]}'],
    ['keys that are deeper', '{"a":{"batch":[9]},"batch":[{"batch":[8],"context":1}]}'],
    ['an empty key, a long key', '{"":1,"a long key with a lot of text":[1],"batch":[1]}'],
    ['Persian text and emoji', '{"batch":[{"event":"خرید 🛒","properties":{"نام":"]}"}}]}'],
  ])('are those that JSON.parse finds: %s', (_, text) =>
    expect(parsed(text)).toEqual(expected(text)),
  );

  it('are those that JSON.parse finds in any JSON with any white space', () => {
    const key = fc.oneof(
      fc.constantFrom('batch', 'context', 'sent_at', 'batch '),
      fc.string({ unit: 'grapheme' }),
    );
    const members = fc.array(
      fc.tuple(
        key,
        fc.oneof(fc.json({ stringUnit: 'grapheme' }), fc.json({ stringUnit: 'binary' })),
      ),
      { maxLength: 5 },
    );
    const items = fc.array(fc.json({ stringUnit: 'grapheme', maxDepth: 4 }), { maxLength: 6 });
    const space = fc.constantFrom('', ' ', '\n', '\t\r\n ');
    fc.assert(
      fc.property(members, items, members, space, (before, batch, after, gap) => {
        const member = ([name, value]: readonly [string, string]) =>
          `${gap}${JSON.stringify(name)}${gap}:${gap}${value}${gap}`;
        const array = `[${gap}${batch.join(`${gap},${gap}`)}${gap}]`;
        const kept = after.filter(([name]) => name !== 'batch');
        const text = `${gap}{${[...before, ['batch', array] as const, ...kept].map(member).join(',')}}${gap}`;
        expect(parsed(text)).toEqual(expected(text));
      }),
      { numRuns: 300 },
    );
  });

  it('are found in bytes that are not UTF-8', () => {
    const body = Buffer.concat([
      Buffer.from('{"batch":[{"a":"'),
      Buffer.of(0xe2, 0x22),
      Buffer.from('},{"b":"'),
      Buffer.of(0xff, 0xc3),
      Buffer.from('"}]}'),
    ]);
    const whole = JSON.parse(body.toString()) as { batch: unknown[] };
    expect(
      sliceItems(body, 'batch').items.map(
        ({ start, end }) => JSON.parse(body.toString('utf8', start, end)) as unknown,
      ),
    ).toEqual(whole.batch);
  });

  it('end the scan of bytes that are not JSON', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 50 }),
        fc.constantFrom('', '{', '{"batch":[', '{"batch":[{"'),
        (bytes, head) => {
          try {
            sliceItems(Buffer.concat([Buffer.from(head), bytes]), 'batch');
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError);
          }
        },
      ),
    );
  });

  it('are the members of `events` for an import, without a common context', () => {
    const body = Buffer.from(
      '{"events":[1],"context":{},"eve\\u006ets":[{"n":1.50e3}, 12345678901234567890]}',
    );
    const { items, context } = sliceItems(body, 'events');
    expect(items.map(({ start, end }) => body.toString('utf8', start, end))).toEqual([
      '{"n":1.50e3}',
      '12345678901234567890',
    ]);
    expect(context).toBeUndefined();
  });
});
