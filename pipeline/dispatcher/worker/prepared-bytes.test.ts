import { describe, expect, it } from 'vitest';
import type { Decision } from './ports.ts';
import { PreparedBytes } from './prepared-bytes.ts';

const MEGABYTE = 1_000_000;

/** A message with an HTML part of so many bytes in memory. */
function message(bytes: number): Decision {
  const content = { subject: '', title: '', text: '', html: 'x'.repeat(bytes / 2), url: '' };
  const to = { kind: 'chat', chatId: '1' } as const;
  return {
    kind: 'send',
    message: {
      messages: [{ messageId: 'm', to, content: { ...content, data: {} }, expiresAt: 0 }],
      ...{ resolvedAt: 0, addressHash: '', capOf: '', userId: '' },
    },
  };
}

describe('the memory of prepared messages', () => {
  it('holds few of a run that nobody has seen, and many small ones afterwards', () => {
    const prepared = new PreparedBytes(10 * MEGABYTE);
    expect(prepared.share(7, 4)).toBeLessThan(20);
    prepared.seen(7, [message(1000), message(1000)]);
    expect(prepared.share(7, 4)).toBe(1250);
    expect(prepared.share(8, 4)).toBeLessThan(20);
  });

  it('is divided among all chunks, and each of them has a message', () => {
    const prepared = new PreparedBytes(10 * MEGABYTE);
    prepared.seen(7, [message(999_000)]);
    expect(prepared.share(7, 1)).toBe(10);
    expect(prepared.share(7, 5)).toBe(2);
    expect(prepared.share(7, 500)).toBe(1);
  });

  it('expects large messages at once, and small ones slowly', () => {
    const prepared = new PreparedBytes(10 * MEGABYTE);
    prepared.seen(7, [message(1000)]);
    prepared.seen(7, [message(999_000)]);
    expect(prepared.share(7, 1)).toBe(10);
    prepared.seen(7, [message(1000)]);
    expect(prepared.share(7, 1)).toBe(13);
  });

  it('learns nothing from those who get no message', () => {
    const prepared = new PreparedBytes(10 * MEGABYTE);
    const before = prepared.share(7, 1);
    prepared.seen(7, [{ kind: 'wait', until: 5 }]);
    expect(prepared.share(7, 1)).toBe(before);
  });
});
