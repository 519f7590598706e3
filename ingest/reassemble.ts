import type { BatchSlices, Slice } from './slice-items.ts';

const OPEN = Buffer.from('{');
const CONTEXT = Buffer.from('"context":');
const SENT_AT = Buffer.from('"sent_at":');
const BATCH = Buffer.from('"batch":[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']}');

/**
 * A batch body of some of a batch's items, from the very bytes that came: nothing is serialised
 * anew.
 */
export function reassemble(options: {
  body: Buffer;
  slices: BatchSlices;
  indices: readonly number[];
}): Buffer {
  const { body, slices } = options;
  const parts: Buffer[] = [OPEN];
  const add = (name: Buffer, slice: Slice | undefined) => {
    if (slice) parts.push(name, body.subarray(slice.start, slice.end), COMMA);
  };
  add(CONTEXT, slices.context);
  add(SENT_AT, slices.sentAt);
  parts.push(BATCH);
  for (let position = 0; position < options.indices.length; position++) {
    const slice = slices.items[options.indices[position] ?? -1];
    if (!slice)
      throw new RangeError(`the batch has no item ${options.indices[position] ?? 'there'}`);
    if (position > 0) parts.push(COMMA);
    parts.push(body.subarray(slice.start, slice.end));
  }
  parts.push(CLOSE);
  return Buffer.concat(parts);
}
