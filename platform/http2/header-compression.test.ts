import { afterEach, describe, expect, test } from 'vitest';
import { closeAll } from '../outbound/receivers.ts';
import type { Header } from './header-decoder.ts';
import { HeaderDecoder } from './header-decoder.ts';
import { HeaderEncoder, type SharedHeaders } from './header-encoder.ts';
import { http2Receiver, respond } from './testing/receivers.ts';
import { poolTo, post, request } from './testing/pool.ts';

afterEach(closeAll);

/** What node:http2 lets a header contain. */
const CHARACTERS = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter(
  (character) => /[\t\x20-\x7e\x80-\xff]/.test(character),
);

describe('answers of another implementation', () => {
  test('are read with every character, as Huffman codes too', async () => {
    // Digits have short codes, so that Huffman pays for any character between them.
    const values = CHARACTERS.map((character) => `${'0'.repeat(40)}${character}${'1'.repeat(40)}`);
    const { port } = await http2Receiver((received, count) =>
      respond(received, { headers: { 'x-value': values[count - 1] ?? '' } }),
    );
    const pool = poolTo(port);
    for (const value of values)
      expect(await post(pool)).toMatchObject({ headers: { 'x-value': value } });
  });

  test('are read while their table evicts and repeats headers', async () => {
    const value = (count: number) => `${count % 40}`.repeat(1 + ((count * 37) % 300));
    const { port } = await http2Receiver((received, count) =>
      respond(received, { headers: { [`x-${count % 7}`]: value(count), etag: value(count % 5) } }),
    );
    const pool = poolTo(port);
    for (let count = 1; count <= 500; count++) {
      const headers = { [`x-${count % 7}`]: value(count), etag: value(count % 5) };
      expect(await post(pool)).toMatchObject({ status: 200, headers });
    }
  });
});

describe('requests are read by another implementation', () => {
  test.each([0, 100, 4096, 65_536])('that keeps a table of %i bytes', async (headerTableSize) => {
    const { port, received } = await http2Receiver((one) => respond(one), {
      settings: { headerTableSize },
    });
    const pool = poolTo(port);
    const shared = Array.from({ length: 30 }, (_, at): SharedHeaders => [
      ['authorization', `bearer ${'t'.repeat(at * 100)}${at}`],
      ['x-topic', `app ${at % 4}`],
      ['content-type', 'application/json'],
    ]);
    const sent: Header[][] = [];
    for (let count = 0; count < 300; count++) {
      const own: Header[] = [['x-id', 'é'.repeat(count)]];
      const list = shared[Math.floor(count / 10) % 7 === 0 ? count % 30 : count % 3] ?? [];
      sent.push([...list, ...own]);
      await post(pool, { ...request(`/${count}`), shared: list, headers: own });
    }
    const read = received.map(({ headers }) => headers);
    expect(read).toMatchObject(
      sent.map((headers, count) => ({
        ':method': 'POST',
        ':scheme': 'https',
        ':authority': `localhost:${port}`,
        ':path': `/${count}`,
        ...Object.fromEntries(headers),
      })),
    );
  });
});

test('a header that requests share is sent once, then as a byte', () => {
  const encoder = new HeaderEncoder();
  const shared: SharedHeaders = [['authorization', 't'.repeat(1000)]];
  const block = () => encoder.post({ path: '/', shared: [shared], headers: [] }).length;
  expect([block() > 1000, block() < 10, block() < 10]).toEqual([true, true, true]);
});

describe('a block that cannot be decoded', () => {
  test.each([
    ['an index that names nothing', [0xff, 0x80, 0x01]],
    ['index 0', [0x80]],
    ['a number without an end', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ['a text that is longer than the block', [0x00, 0x01, 0x61, 0x7f]],
    ['a text in the middle of which it ends', [0x00]],
    ['padding of zeros', [0x00, 0x81, 0x00, 0x00]],
    ['padding of a whole byte', [0x00, 0x82, 0x1f, 0xff, 0x00]],
    ['the code of the end', [0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00]],
    ['a table that is larger than allowed', [0x3f, 0xe2, 0x1f]],
  ])('has %s', (_, bytes) => {
    expect(() => new HeaderDecoder().decode(Buffer.from(bytes))).toThrow('COMPRESSION_ERROR');
  });

  test('has headers that are far larger than their block', () => {
    // One entry of 4 kB, and its index a hundred times.
    const text = Buffer.concat([Buffer.of(0x40, 1, 0x61, 0x7f, 0xa1, 0x1e), Buffer.alloc(4000)]);
    const bomb = Buffer.concat([text, Buffer.alloc(100, 0xbe)]);
    expect(() => new HeaderDecoder().decode(bomb)).toThrow('ENHANCE_YOUR_CALM');
  });
});
