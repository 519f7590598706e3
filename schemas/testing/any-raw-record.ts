import fc from 'fast-check';
import type { RawRecord } from '../records.ts';

const text = fc.oneof(
  fc.constantFrom('', 'sdk', 'track', 'batch', 'سلام دنیا', 'x'.repeat(256), 'x'.repeat(300)),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
/** avsc loses the lowest bit above. */
const long = fc.oneof(
  fc.constantFrom(0, 1, -1, 63, 64, -64, -65, 1_790_000_000_000, 2 ** 47, 2 ** 48, 2 ** 51),
  fc.integer({ min: -(2 ** 51), max: 2 ** 51 }),
);
export const anyBytes = fc.uint8Array({ maxLength: 30 }).map((array) => Buffer.from(array));

/** Any raw record, with the numbers that avsc keeps exactly. */
export const anyRawRecord = fc.record({
  ...{ account_id: long, app_id: long, write_key_id: long, received_at: long },
  ...{ source: text, path: text, ip: text, user_agent: text, origin: text },
  ...{ trace: text, gateway: text, sequence: long, shape: text, body: anyBytes },
  items: fc.array(
    fc.record({
      ...{ at: fc.integer(), index: fc.integer(), type: text, message_id: text },
      ...{ generated: fc.boolean(), dedupe_id: fc.option(text), timestamp: long },
    }),
    { maxLength: 4 },
  ),
  redriven_from: fc.option(
    fc.record({
      ...{ epoch: fc.integer(), partition: fc.integer(), offset: long, index: fc.integer() },
    }),
  ),
  delivery: fc.option(fc.record({ source: text, topic: text, body: anyBytes })),
}) as unknown as fc.Arbitrary<RawRecord>;
