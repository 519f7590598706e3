import { randomBytes } from 'node:crypto';
import { pageOf } from '../../panel/pages.ts';
import type { RenderedAnswer } from '../../platform/http/host.ts';
import { grants } from '../../platform/permissions.ts';
import type { Membership } from '../members/member-store.ts';
import type { PanelFiles } from './files.ts';

/** Everything comes from the panel itself. Styles that its library inserts carry the nonce. */
function policyWith(nonce: string): string {
  return [
    ...["default-src 'none'", "script-src 'self'", `style-src 'self' 'nonce-${nonce}'`],
    ...["img-src 'self' data: blob:", "font-src 'self'", "connect-src 'self'", "frame-src 'self'"],
    ...["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
  ].join('; ');
}

const SECURITY = {
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

const NOT_BUILT =
  '<!doctype html><meta charset="utf-8"><title>Ravand</title><p>The panel is not built: run <code>./ravand up</code>, or <code>node deploy/local/setup/build-panel.ts</code>.</p>';

interface DocumentRequest {
  /** Without the query. */
  path: string;
  cookie: string | undefined;
  /** Of the signed-in member; undefined: nobody is, or it cannot be known now. */
  account: Pick<Membership, 'role' | 'isOperator'> | undefined;
}

/**
 * The document of a page, in the language and the theme of its cookies. 404 for a path without a
 * page, 403 for a page that the member may not open: the panel shows why.
 */
export function answerDocument(
  { path, cookie, account }: DocumentRequest,
  { documents, preloads }: Pick<PanelFiles, 'documents' | 'preloads'>,
): RenderedAnswer {
  const nonce = randomBytes(16).toString('base64');
  const headers = {
    ...SECURITY,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policyWith(nonce),
    vary: 'cookie',
  };
  if (!documents) return { status: 503, headers, body: Buffer.from(NOT_BUILT) };
  const theme = cookieValue(cookie, 'theme');
  const language = cookieValue(cookie, 'language') === 'en' ? 'en' : 'fa';
  // Nobody is signed in: the page will be sign-in, which the document has whole.
  const needed = account === undefined ? [] : (preloads[language][pageOf(path)?.path ?? ''] ?? []);
  const html = documents[language]
    .replace('</head>', `${needed.map(linkTo).join('')}</head>`)
    .replace('nonce=""', `nonce="${nonce}"`)
    .replace(/(<html [^>]*)>/, (root: string, start: string) =>
      theme === 'dark' || theme === 'light' ? `${start} data-theme="${theme}">` : root,
    );
  return { status: statusOf(path, account), headers, body: Buffer.from(html) };
}

function linkTo(file: string): string {
  return file.endsWith('.css')
    ? `<link rel="preload" as="style" crossorigin href="/${file}" />`
    : `<link rel="modulepreload" crossorigin href="/${file}" />`;
}

function statusOf(path: string, account: DocumentRequest['account']): number {
  const page = pageOf(path);
  if (!page) return 404;
  if (account === undefined) return 200;
  const { permission, isForOperators } = page;
  if (isForOperators && account.isOperator !== true) return 403;
  return permission === undefined || grants[account.role].includes(permission) ? 200 : 403;
}

function cookieValue(header: string | undefined, name: string): string | undefined {
  const pair = (header ?? '').split(/;\s*/).find((one) => one.startsWith(`${name}=`));
  return pair?.slice(name.length + 1);
}
