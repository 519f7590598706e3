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
  /** The connection's secret; undefined when none is stored. */
  secret: string | undefined;
}

export type SignatureVerdict = 'genuine' | 'signature mismatch' | 'unauthorized';

/** The check of one delivery. */
export interface SignatureCheck {
  /** The verdict when no body can change it; undefined when it depends on the body. */
  readonly atHead: SignatureVerdict | undefined;
  /** The next piece of the body, unparsed. */
  readonly add: (piece: Uint8Array) => void;
  /** Once, behind the last piece. */
  verdict(): SignatureVerdict;
}

/**
 * Whether a delivery comes from the platform. Without a stored secret the answer is no, except for
 * event_pipeline, which then accepts whoever knows the token. Bodies are hashed piece by piece, so
 * that a large one does not occupy the event loop.
 */
export function signatureCheck({ source, headers, secret }: SignedDelivery): SignatureCheck {
  const scheme = SCHEMES[source];
  if (scheme.kind === 'none') return decided('signature mismatch');
  if (scheme.kind === 'credential') {
    if (secret === undefined) return decided('genuine');
    const sent = headerOf(headers, 'authorization');
    const isSame = sameText(secret, sent);
    return decided(sameText(secret, withoutBearer(sent)) || isSame ? 'genuine' : 'unauthorized');
  }
  const signature = headerOf(headers, scheme.header);
  if (secret === undefined || !SIGNATURE.test(signature)) return decided('signature mismatch');
  const hmac = createHmac('sha256', secret);
  return {
    atHead: undefined,
    add: (piece) => void hmac.update(piece),
    verdict: () => (sameText(hmac.digest('base64'), signature) ? 'genuine' : 'signature mismatch'),
  };
}

/** base64 of 32 bytes; no other text is a signature, whatever the body. */
const SIGNATURE = /^[A-Za-z0-9+/]{43}=$/;

function decided(verdict: SignatureVerdict): SignatureCheck {
  return { atHead: verdict, add: () => undefined, verdict: () => verdict };
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
