import { describe, expect, it } from 'vitest';
import { claimId } from './claim-id.ts';
import { decodeEntry } from './entry.ts';
import { positionByteLength, writePosition } from './position-bytes.ts';
import { toClaimTime } from './claim-time.ts';
import { packClaims, readResolutions, type ClaimToResolve } from './resolution.ts';

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
    expect(packed[13 + length]).toBe(packed.length - 15 - length);
    expect(packed.at(-1)).toBe(0);
  });

  it('pack what is known of the stored row: nothing, that it must be asked for, none, or its entry', () => {
    const id = claimId('1\0m\0', 'x');
    const claim = { id, position, acceptance: 7, receivedAt: AT };
    const row = { position: { ...position, offset: 5 }, acceptance: 8, receivedAt: AT - 1 };
    const after = (stored: ClaimToResolve['stored']) => {
      const plain = packClaims([claim], 5_000);
      return packClaims([{ ...claim, ...(stored && { stored }) }], 5_000).subarray(
        plain.length - 1,
      );
    };
    expect([...after(undefined)]).toEqual([0]);
    expect([...after('ask')]).toEqual([1, 1]);
    expect([...after('none')]).toEqual([1, 0]);
    const entry = after(row);
    expect(entry[0]).toBe(entry.length - 1);
    expect(decodeEntry(entry.subarray(1))).toEqual({
      ...{ state: 'resolved', expires: AT + 4_999, position: row.position, acceptance: 8 },
    });
  });

  it('return the verdicts, with the position that holds the claim', () => {
    const held = Buffer.alloc(positionByteLength(position));
    writePosition(position, held, 0);
    const times = Buffer.alloc(10);
    times.writeUIntBE(toClaimTime(AT), 0, 5);
    times.writeUIntBE(toClaimTime(AT + 9), 5, 5);
    const reply = Buffer.concat([
      Buffer.from('UA'),
      times,
      Buffer.from('FQ'),
      held,
      Buffer.from('D'),
      held,
      Buffer.from('R'),
    ]);
    expect(readResolutions(reply, 6)).toEqual([
      { verdict: 'duplicate' },
      { verdict: 'ask', since: AT, until: AT + 9 },
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
