import { describe, expect, it } from 'vitest';
import { answerDocument } from './document.ts';

const documents = {
  fa: '<html lang="fa" dir="rtl"><head><meta property="csp-nonce" nonce="" /></head>',
  en: '<html lang="en" dir="ltr"><head><meta property="csp-nonce" nonce="" /></head>',
};
const preloads = {
  fa: {
    '/': ['assets/overview.js', 'assets/overview.css'],
    '/segments/$id': ['assets/segment.js'],
  },
  en: {},
};

interface Visitor {
  cookie?: string;
  role?: 'viewer' | 'owner';
  isOperator?: boolean;
}

function answer(path: string, { cookie, role, isOperator = false }: Visitor = {}) {
  const account = role && { role, isOperator };
  const { status, headers, body } = answerDocument(
    { path, cookie, account },
    { documents, preloads },
  );
  return { status, headers: headers as Record<string, string>, text: String(body) };
}

describe('the document of a page', () => {
  it('is in the language and the theme of its cookies, Persian by default', () => {
    expect(answer('/').text).toContain('<html lang="fa" dir="rtl">');
    expect(answer('/', { cookie: 'a=b; language=en; theme=dark' }).text).toContain(
      '<html lang="en" dir="ltr" data-theme="dark">',
    );
    expect(answer('/', { cookie: 'theme="><script>' }).text).not.toContain('script');
  });

  it.each([
    ['/', undefined, 200],
    ['/reports/funnel', undefined, 200],
    ['/reports/funnel', 'viewer', 200],
    ['/segments/7', 'viewer', 200],
    ['/settings/keys', 'viewer', 403],
    ['/people/x', 'viewer', 403],
    ['/exports', 'viewer', 403],
    ['/nowhere', undefined, 404],
    ['/segments/7/more', 'viewer', 404],
  ] as const)('of %s for %s has the status %i', (path, role, status) => {
    expect(answer(path, role ? { role } : {}).status).toBe(status);
  });

  it('that is for operators of the installation is refused even to owners', () => {
    expect(answer('/on-call/jobs', { role: 'owner' }).status).toBe(403);
    expect(answer('/on-call/jobs', { role: 'owner', isOperator: true }).status).toBe(200);
    expect(answer('/on-call/jobs', { role: 'viewer', isOperator: true }).status).toBe(403);
  });

  it('preloads what the page needs, for whoever is signed in', () => {
    const { text } = answer('/', { role: 'viewer' });
    expect(text).toContain('<link rel="modulepreload" crossorigin href="/assets/overview.js" />');
    expect(text).toContain('as="style" crossorigin href="/assets/overview.css"');
    expect(answer('/segments/7', { role: 'viewer' }).text).toContain('/assets/segment.js');
    expect(answer('/').text).not.toContain('/assets/');
  });

  it('allows nothing inline and no other host, and its nonce is new each time', () => {
    const [first, second] = [answer('/'), answer('/')];
    const policy = first.headers['content-security-policy'] ?? '';
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-");
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
    expect(first.text).toContain(`nonce="${nonce}"`);
    expect(second.text).not.toContain(nonce);
    expect(first.headers).toMatchObject({ 'x-frame-options': 'DENY', vary: 'cookie' });
  });
});
