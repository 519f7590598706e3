import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { headerOf, type DeliveryHeaders } from './topic.ts';
import type { WebhookSource } from './sources.ts';

/**
 * How a delivery proves its origin (ingest 4.6). `none`: no header of this source is defined, so
 * every delivery is refused (known defect).
 */
type Scheme = { kind: 'hmac'; header: string } | { kind: 'credential' } | { kind: 'none' };

const SCHEMES: Record<WebhookSource, Scheme> = {
  hosted_storefront: { kind: 'hmac', header: 'x-storefront-hmac-sha256' },
  plugin_storefront: { kind: 'hmac', header: 'x-plugin-webhook-signature' },
  event_pipeline: { kind: 'credential' },
  retail_marketplace: { kind: 'none' },
  handmade_marketplace: { kind: 'none' },
  price_comparison: { kind: 'none' },
  payment_gateway: { kind: 'none' },
};

export interface SignedDelivery {
  source: WebhookSource;
  headers: DeliveryHeaders;
  /** The body, unparsed. */
  raw: Uint8Array;
  /** The connection's secret; undefined when none is stored. */
  secret: string | undefined;
}

export type SignatureVerdict = 'genuine' | 'signature mismatch' | 'unauthorized';

/**
 * Whether a delivery comes from the platform. Without a stored secret the answer is no, except for
 * event_pipeline, which then accepts whoever knows the token.
 */
export function verifySignature({
  source,
  headers,
  raw,
  secret,
}: SignedDelivery): SignatureVerdict {
  const scheme = SCHEMES[source];
  switch (scheme.kind) {
    case 'hmac':
      return secret !== undefined &&
        sameText(signatureOf(raw, secret), headerOf(headers, scheme.header))
        ? 'genuine'
        : 'signature mismatch';
    case 'credential': {
      if (secret === undefined) return 'genuine';
      const sent = headerOf(headers, 'authorization');
      const isSame = sameText(secret, sent);
      return sameText(secret, withoutBearer(sent)) || isSame ? 'genuine' : 'unauthorized';
    }
    case 'none':
      return 'signature mismatch';
  }
}

/** base64(HMAC-SHA256(secret, raw)). */
export function signatureOf(raw: Uint8Array, secret: string): string {
  return createHmac('sha256', secret).update(raw).digest('base64');
}

function withoutBearer(sent: string): string {
  return sent.startsWith('Bearer ') ? sent.slice('Bearer '.length).trim() : sent;
}

/** Constant time: compares hashes, so that the time depends on neither text. */
function sameText(expected: string, sent: string): boolean {
  return timingSafeEqual(hash('sha256', expected, 'buffer'), hash('sha256', sent, 'buffer'));
}
