import { brotliDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { DocumentParts } from '../../panel/documents.ts';
import type { Role } from '../../platform/permissions.ts';
import { answerDocument } from './document.ts';
import type { Visitor } from './visitor.ts';

function partsIn(root: string): DocumentParts {
  return {
    html: `<html ${root}><head><meta property="csp-nonce" nonce="" /></head><div id="root"></div><script type="application/json" id="start">{}</script>`,
    scripts: ['/assets/base.js'],
    imported: ['/assets/texts.js'],
    pages: { '/': ['/assets/overview.js'], '/segments/$id': ['/assets/segment.js'] },
    signIn: '<h1>sign in</h1>',
    shells: {
      owner: '<main id="main"></main>',
      viewer:
        '<b>[[account]]</b><i title="[[email]]"></i><a href="/">overview</a><a href="/segments">segments</a><main id="main"></main>',
    },
    current: { '/': ['/'], '/segments/$id': ['/segments'] },
    mains: {
      '/': { viewer: '<h1>overview of a viewer</h1>' },
      '/segments/$id': { viewer: '<a href="/segments">back</a>' },
      '/on-call/jobs': { viewer: '<h1>replays</h1>', owner: '<h1>replays</h1>' },
    },
  };
}
const documents = { fa: partsIn('lang="fa" dir="rtl"'), en: partsIn('lang="en" dir="ltr"') };

function member(role: Role, { name = 'Shop', isOperator = false } = {}): Visitor {
  const membership = { id: 3, name, role, ipAllow: [], isOperator };
  const caller = { memberId: 5, email: 'a@shop.example', account: membership };
  return { kind: 'member', caller, accounts: [membership] };
}

interface Asked {
  cookie?: string;
  visitor?: Visitor;
}

async function answer(path: string, { cookie, visitor = { kind: 'nobody' } }: Asked = {}) {
  const asked = { path, cookie, acceptEncoding: undefined, visitor };
  const { status, headers, body } = await answerDocument(asked, documents);
  const text = String(body);
  const [, start = ''] = /id="start">(.*?)<\/script>/.exec(text) ?? [];
  return {
    ...{ status, headers: headers as Record<string, string>, text },
    start: JSON.parse(start) as { imported: string[]; session?: { account: { name: string } } },
  };
}

describe('the document of a page', () => {
  it('is in the language and the theme of its cookies, Persian by default', async () => {
    expect((await answer('/')).text).toContain('<html lang="fa" dir="rtl">');
    expect((await answer('/', { cookie: 'a=b; language=en; theme=dark' })).text).toContain(
      '<html lang="en" dir="ltr" data-theme="dark">',
    );
    expect((await answer('/', { cookie: 'theme="><b>' })).text).not.toContain('"><b>');
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
  ] as const)('of %s for %s has the status %i', async (path, role, status) => {
    expect((await answer(path, role ? { visitor: member(role) } : {})).status).toBe(status);
  });

  it('that is for operators of the installation is refused even to owners', async () => {
    const asked = async (role: Role, isOperator: boolean) =>
      await answer('/on-call/jobs', { visitor: member(role, { isOperator }) });
    expect((await asked('owner', false)).status).toBe(403);
    expect((await asked('viewer', true)).status).toBe(403);
    expect((await asked('viewer', false)).text).not.toContain('replays');
    const { status, text, start } = await asked('owner', true);
    expect({ status, session: start.session }).toMatchObject({
      ...{ status: 200, session: { is_operator: true } },
    });
    expect(text).toContain('<main id="main"><h1>replays</h1></main>');
  });

  it('shows a member the page as their role sees it, with the account and the way to it', async () => {
    const { text } = await answer('/', { visitor: member('viewer') });
    expect(text).toContain(
      '<div id="root"><b>Shop</b><i title="a@shop.example"></i><a href="/" aria-current="page">overview</a><a href="/segments">segments</a><main id="main"><h1>overview of a viewer</h1></main></div>',
    );
    const { text: segment } = await answer('/segments/7', { visitor: member('viewer') });
    expect(segment).toContain(
      '<a href="/segments" aria-current="page">segments</a><main id="main"><a href="/segments">back</a></main>',
    );
  });

  it('shows sign-in to whoever is not signed in, and nothing while that is not known', async () => {
    expect((await answer('/')).text).toContain('<div id="root"><h1>sign in</h1></div>');
    const unknown = await answer('/', { visitor: { kind: 'unknown' } });
    expect(unknown.text).toContain('<div id="root"></div>');
    expect(unknown.start).not.toHaveProperty('session');
  });

  it('says who is signed in and what the page imports, so that nobody has to ask', async () => {
    const { start } = await answer('/segments/7', { visitor: member('viewer') });
    expect(start.imported).toEqual(['/assets/texts.js', '/assets/segment.js']);
    expect(start.session).toMatchObject({ member: { id: 5 }, role: 'viewer' });
    expect((await answer('/')).start).toMatchObject({
      imported: ['/assets/texts.js'],
      session: null,
    });
  });

  it('of an account with any name has one block of JSON and no element of that name', async () => {
    const name = `</script><script>alert(1)</script>$&$'<!--`;
    const { text, start } = await answer('/', { visitor: member('viewer', { name }) });
    expect(start.session?.account.name).toBe(name);
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(text).toContain('<b>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;$&amp;$&#39;');
  });

  it('is compressed for whoever accepts that', async () => {
    const visitor = member('viewer');
    const asked = { path: '/', cookie: undefined, acceptEncoding: 'gzip, br', visitor };
    const { headers, body } = await answerDocument(asked, documents);
    expect(headers).toMatchObject({ 'content-encoding': 'br', vary: 'cookie, accept-encoding' });
    expect(String(brotliDecompressSync(body as Buffer))).toContain('overview of a viewer');
  });

  it('allows nothing inline and no other host, and its nonce is new each time', async () => {
    const [first, second] = [await answer('/'), await answer('/')];
    const policy = first.headers['content-security-policy'] ?? '';
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-");
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
    expect(first.text).toContain(`nonce="${nonce}"`);
    expect(second.text).not.toContain(nonce);
    expect(first.headers).toMatchObject({ 'x-frame-options': 'DENY' });
  });
});
