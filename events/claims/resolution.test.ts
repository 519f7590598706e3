import { describe, expect, it } from 'vitest';
import { claimId } from './claim-id.ts';
import { decodeEntry } from './entry.ts';
import { positionByteLength, writePosition } from './position-bytes.ts';
import { packEntries, readResolutions } from './resolution.ts';

const AT = Date.UTC(2026, 10, 21);
const position = { epoch: 1, partition: 2, offset: 300, index: 4 };

describe('settle calls', () => {
  it('pack id, position, the end of the window and the old position', () => {
    const id = claimId('1\0m\0', 'x');
    const packed = packEntries(
      [
        {
          id,
          position: position,
          acceptance: 7,
          receivedAt: AT,
          redrivenFrom: { ...position, offset: 5 },
        },
      ],
      5_000,
    );
    const length = packed[12] ?? 0;
    expect(packed.toString('latin1', 0, 12)).toBe(id);
    expect(decodeEntry(packed.subarray(13, 13 + length))).toEqual({
      state: 'placed',
      expires: AT + 5_000,
      position,
      acceptance: 7,
    });
    expect(packed[13 + length]).toBe(packed.length - 14 - length);
  });

  it('read the verdicts with the places that are held', () => {
    const held = Buffer.alloc(positionByteLength(position));
    writePosition(position, held, 0);
    const reply = Buffer.concat([
      Buffer.from('FQ'),
      held,
      Buffer.from('D'),
      held,
      Buffer.from('R'),
    ]);
    expect(readResolutions(reply, 4)).toEqual([
      { verdict: 'first' },
      { verdict: 'repeat', position },
      { verdict: 'duplicate', position },
      { verdict: 'replay' },
    ]);
  });

  it('know a Redis that was not filled from an empty answer', () => {
    expect(readResolutions(Buffer.from('!'), 0)).toBeNull();
    expect(readResolutions(Buffer.alloc(0), 0)).toEqual([]);
    expect(() => readResolutions(Buffer.from('F'), 2)).toThrow(RangeError);
  });
});
