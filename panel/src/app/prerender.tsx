import { QueryClient } from '@tanstack/react-query';
import { createMemoryHistory } from '@tanstack/react-router';
import { renderToStaticMarkup } from 'react-dom/server';
import type { Permission, Role } from '../../../platform/permissions.ts';
import { PAGES, type PanelPage } from '../../pages.ts';
import { ACCOUNT_MARK, EMAIL_MARK, type Prerendered } from '../../prerendered.ts';
import { prerenderIn, type Language } from '../shared/language/language.ts';
import { sessionQuery, type Session } from '../shared/session/session.ts';
import { App } from './app.tsx';
import { loadFirstTexts } from './first-texts/load.ts';
import { createPanelRouter } from './router.ts';

/** The page whose entry of the navigation is none: the shell of all pages. */
const WITHOUT_ENTRY = '/me';
const CURRENT = /<a [^>]*aria-current="page"[^>]*>/g;
const MAIN = /(<main id="main"[^>]*>)(.*)(<\/main>)/s;

type Grants = Readonly<Record<Role, readonly Permission[]>>;

/** Every page as React shows it before its data is there. The build runs this, no browser does. */
export async function prerender(language: Language, grants: Grants): Promise<Prerendered> {
  prerenderIn(language);
  await loadFirstTexts();
  const pages: readonly PanelPage[] = PAGES.filter((page) => !('isPublic' in page));
  const shells: Record<string, string> = {};
  const mains: Record<string, Record<string, string>> = {};
  const current: Record<string, string[]> = {};
  for (const [role, permissions] of Object.entries(grants) as [Role, readonly Permission[]][]) {
    const session = sessionOf(role, permissions);
    shells[role] = (await render(WITHOUT_ENTRY, session)).replace(MAIN, '$1$3');
    for (const { path, isForOperators = false } of pages) {
      const html = await render(exampleOf(path), { ...session, is_operator: isForOperators });
      const [, , main = ''] = MAIN.exec(html) ?? [];
      if (main === '') throw new Error(`the page ${path} was not rendered for the role ${role}`);
      (mains[path] ??= {})[role] = main;
      if (role === 'owner') current[path] = currentIn(html);
    }
  }
  return { signIn: await render('/sign-in', null), shells, current, mains };
}

async function render(path: string, session: Session | null): Promise<string> {
  const queryClient = new QueryClient();
  queryClient.setQueryData(sessionQuery.queryKey, session);
  const history = createMemoryHistory({ initialEntries: [path] });
  const router = createPanelRouter(queryClient, history);
  // Outside a browser the router redirects from an address that lacks defaults of its search.
  const whole = { to: path, search: true, _includeValidateSearch: true } as never;
  history.replace(router.buildLocation(whole).publicHref);
  await router.load();
  const html = renderToStaticMarkup(<App {...{ queryClient, router }} />);
  // Its timers would keep the build running for five minutes.
  queryClient.clear();
  // Until the application is there these would do nothing. Links work.
  return html.replaceAll(/<(?:button|select) /g, '$&inert="" ');
}

/** The addresses of the marked entries of the navigation, which is there twice. */
function currentIn(html: string): string[] {
  const links = html.match(CURRENT) ?? [];
  return [...new Set(links.map((link) => /href="([^"]*)"/.exec(link)?.[1] ?? ''))];
}

/** A path with something in the place of its parameters. */
function exampleOf(path: string): string {
  return path.replaceAll(/\$\w+/g, encodeURIComponent('…'));
}

function sessionOf(role: Role, permissions: readonly Permission[]): Session {
  return {
    member: { id: 0, email: EMAIL_MARK },
    account: { id: 0, name: ACCOUNT_MARK },
    role,
    permissions,
    is_operator: false,
    accounts: [{ id: 0, name: ACCOUNT_MARK, role }],
  };
}
