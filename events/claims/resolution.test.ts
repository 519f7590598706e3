import { describe, expect, it } from 'vitest';
import { claimId } from './claim-id.ts';
import { decodeEntry } from './entry.ts';
import { positionByteLength, writePosition } from './position-bytes.ts';
import { packClaims, readResolutions } from './resolution.ts';

const AT = Date.UTC(2026, 10, 21);
const position = { epoch: 1, partition: 2, offset: 300, index: 4 };

describe('calls of the resolve script', () => {
  it('pack id, position, expiry and the original position of a redriven event', () => {
    const id = claimId('1\0m\0', 'x');
    const packed = packClaims(
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
      state: 'resolved',
      expires: AT + 5_000,
      position,
      acceptance: 7,
    });
    expect(packed[13 + length]).toBe(packed.length - 14 - length);
  });

  it('return the verdicts, with the position that holds the claim', () => {
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

  it('distinguish a Redis without loaded claims from an empty reply', () => {
    expect(readResolutions(Buffer.from('!'), 0)).toBeNull();
    expect(readResolutions(Buffer.alloc(0), 0)).toEqual([]);
    expect(() => readResolutions(Buffer.from('F'), 2)).toThrow(RangeError);
  });
});
