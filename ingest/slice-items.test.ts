import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sliceItems, type Slice } from './slice-items.ts';

/** What the slices of a body say, by JSON.parse. */
function told(text: string): { items: unknown[]; context: unknown; sent_at: unknown } {
  const body = Buffer.from(text);
  const parsed = (slice: Slice | undefined) =>
    slice ? (JSON.parse(body.toString('utf8', slice.start, slice.end)) as unknown) : undefined;
  const { items, context, sentAt } = sliceItems(body);
  return { items: items.map(parsed), context: parsed(context), sent_at: parsed(sentAt) };
}

function expected(text: string): ReturnType<typeof told> {
  const { batch, context, sent_at } = JSON.parse(text) as {
    batch: unknown[];
    context?: unknown;
    sent_at?: unknown;
  };
  return { items: batch, context, sent_at };
}

describe('the items of a batch', () => {
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
  ])('%s', (_, text) => expect(told(text)).toEqual(expected(text)));

  it('are those that JSON.parse finds, for any JSON, however it is spaced', () => {
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
        expect(told(text)).toEqual(expected(text));
      }),
      { numRuns: 300 },
    );
  });

  it('stand where they stand also when the bytes are no UTF-8', () => {
    const body = Buffer.concat([
      Buffer.from('{"batch":[{"a":"'),
      Buffer.of(0xe2, 0x22),
      Buffer.from('},{"b":"'),
      Buffer.of(0xff, 0xc3),
      Buffer.from('"}]}'),
    ]);
    const parsed = JSON.parse(body.toString()) as { batch: unknown[] };
    expect(
      sliceItems(body).items.map(
        ({ start, end }) => JSON.parse(body.toString('utf8', start, end)) as unknown,
      ),
    ).toEqual(parsed.batch);
  });

  it('of bytes that are no JSON: the scanner ends', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 50 }),
        fc.constantFrom('', '{', '{"batch":[', '{"batch":[{"'),
        (bytes, head) => {
          try {
            sliceItems(Buffer.concat([Buffer.from(head), bytes]));
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError);
          }
        },
      ),
    );
  });
});
