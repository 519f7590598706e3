import { describe, expect, it } from 'vitest';
import { mapDelivery } from './map-delivery.ts';

const pipeline = (body: unknown) =>
  mapDelivery({
    source: 'event_pipeline',
    headers: {},
    raw: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  });

function events(body: unknown) {
  const mapping = pipeline(body);
  return mapping.outcome === 'events' ? mapping.events : [];
}

describe('event_pipeline', () => {
  it.each([
    [
      {
        type: 'track',
        event: 'Order Done',
        userId: 'u',
        messageId: 'm',
        timestamp: '2026-03-21T10:00:00.500Z',
        properties: { total: 5 },
      },
      {
        type: 'track',
        event: 'Order Done',
        user_id: 'u',
        message_id: 'm',
        timestamp: '2026-03-21T10:00:00.500Z',
        properties: { total: 5 },
      },
    ],
    [
      {
        type: 'identify',
        userId: 'u',
        anonymousId: 'a',
        messageId: 'm',
        traits: { email: 'E@x.ir' },
        context: { ip: '1.2.3.4' },
      },
      {
        type: 'identify',
        user_id: 'u',
        anonymous_id: 'a',
        message_id: 'm',
        traits: { email: 'E@x.ir' },
        context: { ip: '1.2.3.4' },
      },
    ],
    [
      { type: 'page', anonymousId: 'a', messageId: 'm' },
      { type: 'page', event: 'page', anonymous_id: 'a', message_id: 'm' },
    ],
    [
      {
        type: 'page',
        name: 'Home',
        anonymousId: 'a',
        messageId: 'm',
        properties: { url: 'https://x.ir/', path: '/' },
      },
      {
        type: 'page',
        event: 'Home',
        anonymous_id: 'a',
        message_id: 'm',
        properties: { url: 'https://x.ir/', path: '/' },
        context: { page: { url: 'https://x.ir/', path: '/' } },
      },
    ],
    [
      { type: 'screen', anonymousId: 'a', messageId: 'm' },
      { type: 'screen', event: 'screen', anonymous_id: 'a', message_id: 'm' },
    ],
    [
      { type: 'screen', name: 'Cart', userId: 7, messageId: 'm' },
      { type: 'screen', event: 'Cart', user_id: '7', message_id: 'm' },
    ],
  ])('maps %j to one event', (body, mapped) => expect(events(body)).toEqual([mapped]));

  it('keeps the valid items of a batch and applies its context to all', () => {
    const batch = [
      { type: 'track', event: 'a', userId: 'u', messageId: '1' },
      { type: 'alias', userId: 'u', previousId: 'p', messageId: '2' },
      { type: 'track', event: 'b', messageId: '3' },
      null,
      'x',
      { type: 'group', userId: 'u', groupId: 'g' },
      { type: 'track', event: 'c', anonymousId: 'x', messageId: '4', context: { locale: 'fa' } },
    ];
    const mapped = events({ batch, context: { library: { name: 'node' } } });
    expect(mapped.map(({ message_id }) => message_id)).toEqual(['1', '4']);
    expect(mapped.map(({ context }) => context)).toEqual([
      { library: { name: 'node' } },
      { locale: 'fa' },
    ]);
  });

  it.each([
    [{ batch: [] }],
    [{ type: 'alias', userId: 'u' }],
    [{ type: 'track', event: 'x' }],
    [{ type: 'constructor', userId: 'u' }],
    [{}],
  ])('skips %j', (body) =>
    expect(pipeline(body)).toEqual({ outcome: 'skip', reason: 'no event in the body' }),
  );

  it('derives an id from the content of an item without one', () => {
    const item = { type: 'track', event: 'x', userId: 'u', timestamp: '2026-03-21T10:00:00Z' };
    const [one] = events(item);
    const [again] = events({ batch: [item] });
    const [other] = events({ ...item, timestamp: '2026-03-21T10:00:01Z' });
    expect(one?.message_id).toMatch(/^event_pipeline:track:[0-9a-f]{32}$/);
    expect(again?.message_id).toBe(one?.message_id);
    expect(other?.message_id).not.toBe(one?.message_id);
  });

  it('keeps numbers among the properties unchanged', () => {
    expect(
      events(
        '{"type":"track","event":"x","userId":"u","messageId":"m","properties":{"n":820982911946154508}}',
      )[0]?.properties,
    ).toEqual({
      n: Number('820982911946154508'),
    });
  });

  it('drops an item that nests too deeply to be serialised', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(
      pipeline(`{"batch":[{"type":"track","event":"x","userId":"u","properties":{"a":${deep}}}]}`)
        .outcome,
    ).toBe('skip');
  });
});
