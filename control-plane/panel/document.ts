import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import type { DocumentParts } from '../../panel/documents.ts';
import { pageOf, type PanelPage } from '../../panel/pages.ts';
import { ACCOUNT_MARK, EMAIL_MARK } from '../../panel/prerendered.ts';
import { escapeHtml } from '../../messaging/rendering/output-text.ts';
import type { RenderedAnswer } from '../../platform/http/host.ts';
import { grants } from '../../platform/permissions.ts';
import type { Membership } from '../members/member-store.ts';
import { acceptedEncodings, type PanelFiles } from './files.ts';
import { describeSession } from './start-session.ts';
import type { Visitor } from './visitor.ts';

const compress = promisify(brotliCompress);

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
  acceptEncoding: string | undefined;
  visitor: Visitor;
}

/**
 * The document of a page, in the language and the theme of its cookies: the page as it looks before
 * its data is there, who is signed in, and which scripts to load. 404 for a path without a page,
 * 403 for a page that the role may not open: the page says why.
 */
export async function answerDocument(
  { path, cookie, acceptEncoding, visitor }: DocumentRequest,
  documents: PanelFiles['documents'],
): Promise<RenderedAnswer> {
  const nonce = randomBytes(16).toString('base64');
  const headers = {
    ...SECURITY,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policyWith(nonce),
    vary: 'cookie, accept-encoding',
  };
  if (!documents) return { status: 503, headers, body: Buffer.from(NOT_BUILT) };
  const theme = cookieValue(cookie, 'theme');
  const parts = documents[cookieValue(cookie, 'language') === 'en' ? 'en' : 'fa'];
  const html = parts.html
    .replace('nonce=""', `nonce="${nonce}"`)
    .replace(/(<html [^>]*)>/, (root: string, start: string) =>
      theme === 'dark' || theme === 'light' ? `${start} data-theme="${theme}">` : root,
    )
    .replace(/id="start">\s*\{\}\s*/, () => `id="start">${startOf(path, { visitor, parts })}`)
    .replace('<div id="root">', () => `<div id="root">${contentOf(path, { visitor, parts })}`);
  const status = statusOf(path, visitor);
  const body = Buffer.from(html);
  if (!acceptedEncodings(acceptEncoding ?? '').has('br')) return { status, headers, body };
  const compressed = await compress(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
  return { status, headers: { ...headers, 'content-encoding': 'br' }, body: compressed };
}

interface Shown {
  visitor: Visitor;
  parts: DocumentParts;
}

/** JSON that cannot end its element: a name of an account may be anything. */
function startOf(path: string, { visitor, parts }: Shown): string {
  const { scripts, imported, pages } = parts;
  // Whoever is not signed in sees sign-in, which comes with the scripts of every page.
  const own = visitor.kind === 'nobody' ? [] : (pages[pageOf(path)?.path ?? ''] ?? []);
  const start = { scripts, imported: [...imported, ...own], session: sessionOf(visitor) };
  return JSON.stringify(start).replaceAll('<', '\\u003c');
}

function sessionOf(visitor: Visitor): Record<string, unknown> | null | undefined {
  if (visitor.kind === 'member') return describeSession(visitor.caller, visitor.accounts);
  return visitor.kind === 'nobody' ? null : undefined;
}

/** HTML of the page that the visitor will see; empty where only the application knows it. */
function contentOf(path: string, { visitor, parts }: Shown): string {
  const page = pageOf(path);
  if (!page || visitor.kind === 'unknown') return '';
  if (visitor.kind !== 'member' || page.isPublic) return parts.signIn;
  const { account, email } = visitor.caller;
  // The page of operators is rendered for operators alone.
  const isOthers = page.isForOperators && account.isOperator !== true;
  const main = isOthers ? '' : (parts.mains[page.path]?.[account.role] ?? '');
  const links = parts.current[page.path] ?? [];
  return links
    .reduce(
      (html, link) => html.replaceAll(`href="${link}"`, `href="${link}" aria-current="page"`),
      parts.shells[account.role] ?? '',
    )
    .replace(/<main [^>]*>/, (start) => start + main)
    .replaceAll(ACCOUNT_MARK, () => escapeHtml(account.name))
    .replaceAll(EMAIL_MARK, () => escapeHtml(email));
}

function statusOf(path: string, visitor: Visitor): number {
  const page = pageOf(path);
  if (!page) return 404;
  return visitor.kind === 'member' && !mayOpen(page, visitor.caller.account) ? 403 : 200;
}

function mayOpen({ permission, isForOperators }: PanelPage, account: Membership): boolean {
  if (isForOperators && account.isOperator !== true) return false;
  return permission === undefined || grants[account.role].includes(permission);
}

function cookieValue(header: string | undefined, name: string): string | undefined {
  const pair = (header ?? '').split(/;\s*/).find((one) => one.startsWith(`${name}=`));
  return pair?.slice(name.length + 1);
}
