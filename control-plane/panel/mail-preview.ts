import { createHash } from 'node:crypto';
import type { RenderedAnswer } from '../../platform/http/host.ts';

/** Shows each text that the page around it sends. Scripts of a text parsed so never run. */
const SCRIPT = `addEventListener('message', ({ source, data }) => {
  if (source !== parent || typeof data !== 'string') return;
  const shown = new DOMParser().parseFromString(data, 'text/html');
  document.replaceChild(document.adoptNode(shown.documentElement), document.documentElement);
});`;

const BODY = Buffer.from(
  `<!doctype html><html><head><meta charset="utf-8"><script>${SCRIPT}</script></head></html>`,
);

/**
 * An origin of its own without cookies, whose only script is ours. Inline styles, without which
 * hardly an e-mail looks right, are allowed. Nothing is loaded, opened or submitted, so that no
 * sender of pictures learns who looks.
 */
const POLICY = [
  ...['sandbox allow-scripts', "default-src 'none'"],
  `script-src 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`,
  ...["style-src 'unsafe-inline'", 'img-src data:', 'font-src data:'],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'self'"],
].join('; ');

/** GET /mail-preview: the empty frame in which the panel shows the HTML of an e-mail. */
export function answerMailPreview(): RenderedAnswer {
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'x-frame-options': 'SAMEORIGIN',
      'referrer-policy': 'no-referrer',
    },
    body: BODY,
  };
}
