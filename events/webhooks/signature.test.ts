import { describe, expect, it } from 'vitest';
import { signatureCheck, signatureOf, type SignedDelivery } from './signature.ts';
import { WEBHOOK_SOURCES } from './sources.ts';

const raw = Buffer.from('{"a": 1}');
const secret = 's3cret';

function verifySignature({ raw: body, ...delivery }: SignedDelivery & { raw: Buffer }) {
  const check = signatureCheck(delivery);
  check.add(body);
  return check.verdict();
}

describe('signatureOf', () => {
  it('is base64(HMAC-SHA256(secret, body)): the vector of RFC 4231, case 2', () => {
    expect(signatureOf(Buffer.from('what do ya want for nothing?'), 'Jefe')).toBe(
      Buffer.from(
        '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
        'hex',
      ).toString('base64'),
    );
  });
});

describe.each([
  ['hosted_storefront', 'x-storefront-hmac-sha256'],
  ['plugin_storefront', 'x-plugin-webhook-signature'],
] as const)('%s', (source, header) => {
  const right = signatureOf(raw, secret);
  it.each([
    ['the right signature', right, 'genuine'],
    ['spaces around it', `  ${right} `, 'genuine'],
    ['none', undefined, 'signature mismatch'],
    ['an empty one', '', 'signature mismatch'],
    ['that of another secret', signatureOf(raw, 'other'), 'signature mismatch'],
    ['that of another body', signatureOf(Buffer.from('{"a":1}'), secret), 'signature mismatch'],
    ['hexadecimal digits', Buffer.from(right, 'base64').toString('hex'), 'signature mismatch'],
    ['the beginning', right.slice(0, -1), 'signature mismatch'],
  ])('checks the signature in its header: %s', (_, sent, verdict) =>
    expect(verifySignature({ source, headers: { [header]: sent }, raw, secret })).toBe(verdict),
  );

  it('refuses every delivery while no secret is stored', () => {
    expect(
      verifySignature({
        source,
        headers: { [header]: signatureOf(raw, '') },
        raw,
        secret: undefined,
      }),
    ).toBe('signature mismatch');
  });
});

describe('event_pipeline', () => {
  it.each([
    ['s3cret', 'genuine'],
    ['Bearer s3cret', 'genuine'],
    [' Bearer  s3cret ', 'genuine'],
    ['bearer s3cret', 'unauthorized'],
    ['s3cret2', 'unauthorized'],
    ['', 'unauthorized'],
    [undefined, 'unauthorized'],
  ])('finds Authorization %j to be %s', (authorization, verdict) =>
    expect(
      verifySignature({ source: 'event_pipeline', headers: { authorization }, raw, secret }),
    ).toBe(verdict),
  );

  it('compares the whole Authorization value, so that a Basic value can be the secret', () => {
    const authorization = `Basic ${Buffer.from('key:').toString('base64')}`;
    expect(
      verifySignature({
        source: 'event_pipeline',
        headers: { authorization },
        raw,
        secret: authorization,
      }),
    ).toBe('genuine');
    expect(
      verifySignature({
        source: 'event_pipeline',
        headers: { authorization: 'Bearer Bearer x' },
        raw,
        secret: 'Bearer x',
      }),
    ).toBe('genuine');
  });

  it('accepts every delivery while no secret is stored', () => {
    expect(
      verifySignature({
        source: 'event_pipeline',
        headers: { authorization: 'anything' },
        raw,
        secret: undefined,
      }),
    ).toBe('genuine');
  });
});

it.each([
  'retail_marketplace',
  'handmade_marketplace',
  'price_comparison',
  'payment_gateway',
] as const)('every delivery of %s is refused (known defect)', (source) => {
  const right = signatureOf(raw, secret);
  const headers = {
    authorization: secret,
    'x-storefront-hmac-sha256': right,
    'x-plugin-webhook-signature': right,
  };
  for (const stored of [secret, undefined])
    expect(verifySignature({ source, headers, raw, secret: stored })).toBe('signature mismatch');
});

it('every source refuses a delivery without a signature', () => {
  for (const source of WEBHOOK_SOURCES)
    expect(verifySignature({ source, headers: {}, raw, secret })).not.toBe('genuine');
});
