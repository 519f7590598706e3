import type { ConsumedMessage } from './consumer-types.ts';

/**
 * Frees the memory of the values at once; they must not be read any more, and have no bytes then.
 * Each value has an ArrayBuffer outside of V8's heap, and V8 marks the whole heap whenever some
 * 32 MB of such memory have gathered, however little of the heap has changed: for a consumer that
 * makes few objects of its records, that was half of its work (docs/performance.md, "End to end").
 */
export function freeValues(messages: readonly Pick<ConsumedMessage, 'value'>[]): void {
  for (const { value } of messages) {
    if (value === null) continue;
    const { buffer } = value;
    // A buffer that is a part of another one is left alone: others may use the rest.
    if (buffer instanceof ArrayBuffer && buffer.byteLength === value.byteLength) buffer.transfer(0);
  }
}
