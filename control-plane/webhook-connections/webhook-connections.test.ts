import { describe, expect, it } from 'vitest';
import { WEBHOOK_SOURCES } from '../../events/webhooks/sources.ts';
import { readConnection } from './definition.ts';
import { SOURCE_LABELS } from './labels.ts';
import { describeConnection, type ConnectionRow } from './view.ts';

const row: ConnectionRow = {
  id: 7,
  source: 'event_pipeline',
  label: 'web',
  token: 't'.repeat(32),
  has_secret: true,
  enabled: true,
  received: 3,
  accepted: 2,
  rejected: 1,
  last_error: '',
};

describe('the view of a connection (ingest 2.8)', () => {
  it('has exactly the fields of the specification', () => {
    expect(describeConnection(row, 'https://in.example/')).toEqual({
      ...{
        id: 7,
        source: 'event_pipeline',
        label: 'web',
        token: 't'.repeat(32),
        has_secret: true,
        enabled: true,
        received: 3,
        accepted: 2,
        rejected: 1,
      },
      source_label: 'خط لولهٔ رویداد',
      webhook_url: `https://in.example/v1/hooks/event_pipeline/${'t'.repeat(32)}`,
      healthy: true,
    });
  });

  it('has an empty webhook_url without EMAIL_TRACK_BASE', () =>
    expect(describeConnection(row, '')).toMatchObject({ webhook_url: '' }));

  it.each<[string, Partial<ConnectionRow>]>([
    ['a new connection', { accepted: 0 }],
    ['a disabled connection', { enabled: false }],
    ['a connection whose last delivery failed', { last_error: 'bad signature' }],
  ])('of %s is not healthy', (_, change) =>
    expect(describeConnection({ ...row, ...change }, '')).toMatchObject({ healthy: false }),
  );

  it('has last_error only after an error', () => {
    expect(describeConnection(row, '')).not.toHaveProperty('last_error');
    expect(describeConnection({ ...row, last_error: 'no identity' }, '')).toMatchObject({
      last_error: 'no identity',
    });
  });

  it('has a distinct label for every source', () => {
    expect(new Set(WEBHOOK_SOURCES.map((source) => SOURCE_LABELS[source])).size).toBe(7);
  });
});

describe('the body of PUT /v1/integrations (ingest 4.9)', () => {
  it('may omit label and secret', () => {
    expect(readConnection({ source: 'payment_gateway' })).toEqual({
      source: 'payment_gateway',
      label: '',
      secret: '',
    });
    expect(readConnection({ source: 'payment_gateway', label: ' pay ', secret: ' s ' })).toEqual({
      source: 'payment_gateway',
      label: 'pay',
      secret: ' s ',
    });
  });

  it.each<[unknown, string]>([
    [null, 'object'],
    [[], 'object'],
    [{}, 'source must be one of retail_marketplace'],
    [{ source: 'shopify' }, 'source must be one of'],
    [{ source: 'toString' }, 'source must be one of'],
    [{ source: 'payment_gateway', label: 5 }, 'label'],
    [{ source: 'payment_gateway', label: 'a\u0000' }, 'label'],
    [{ source: 'payment_gateway', label: 'a'.repeat(257) }, '256'],
    [{ source: 'payment_gateway', secret: { hidden: 'xyzzy' } }, 'secret'],
    [{ source: 'payment_gateway', secret: 'xyzzy'.repeat(300) }, '1024'],
  ])('is refused with a sentence without the secret when it is %j', (body, sentence) => {
    const read = readConnection(body);
    expect(read).toContain(sentence);
    expect(read).not.toContain('xyzzy');
  });
});
