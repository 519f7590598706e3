import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutUnits, type Unit } from './frames.ts';

function message(type: string, body = ''): Buffer {
  const buffer = Buffer.alloc(5 + Buffer.byteLength(body));
  buffer.write(type, 0, 'latin1');
  buffer.writeInt32BE(buffer.length - 1, 1);
  buffer.write(body, 5);
  return buffer;
}

function bare(code: number, body = ''): Buffer {
  const buffer = Buffer.alloc(8 + Buffer.byteLength(body));
  buffer.writeInt32BE(buffer.length, 0);
  buffer.writeInt32BE(code, 4);
  buffer.write(body, 8);
  return buffer;
}

const sslRequest = bare(80_877_103);
const startup = bare(196_608, 'user\0postgres\0\0');
const extended = Buffer.concat([
  message('P', 'select'),
  message('B', 'x'),
  message('E'),
  message('S'),
]);

function feed(pieces: Buffer[]): Unit[] {
  const units: Unit[] = [];
  let rest = Buffer.alloc(0);
  let started = false;
  for (const piece of pieces) {
    const cut = cutUnits(Buffer.concat([rest, piece]), started);
    units.push(
      ...cut.units.map((unit) =>
        'bytes' in unit ? { ...unit, bytes: Buffer.from(unit.bytes) } : unit,
      ),
    );
    rest = Buffer.from(cut.rest);
    started = cut.started;
  }
  expect(rest).toHaveLength(0);
  return units;
}

describe('cutting a client stream into units', () => {
  const stream = Buffer.concat([
    sslRequest,
    startup,
    extended,
    message('Q', 'begin\0'),
    message('P', 'a'),
    message('H'),
    message('S'),
    message('X'),
  ]);
  const expected = ['encryption', 'startup', 'query', 'query', 'query', 'query', 'end'];

  it('keeps Parse to Sync together and marks what is flushed without a Sync', () => {
    const units = feed([stream]);
    expect(units.map((unit) => unit.kind)).toEqual(expected);
    expect(units[2]).toEqual({ kind: 'query', bytes: extended, held: false });
    expect(units.map((unit) => unit.kind === 'query' && unit.held)).toEqual([
      false,
      false,
      false,
      false,
      true,
      false,
      false,
    ]);
  });

  it('finds the same units wherever the network splits the stream', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const pieces = at.slice(1).map((end, index) => stream.subarray(at[index] ?? 0, end));
        expect(feed(pieces)).toEqual(feed([stream]));
      }),
    );
  });

  it('refuses a stream that is not from a PostgreSQL client', () => {
    expect(() => cutUnits(Buffer.from('GET / HTTP/1.1\r\n\r\n'), false)).toThrow();
    expect(() => cutUnits(Buffer.from([0x51, 0x7f, 0xff, 0xff, 0xff]), true)).toThrow(/bytes/);
  });
});
