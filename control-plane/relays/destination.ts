/**
 * A URL for audit lines: without user and password, query and fragment, which may contain secrets.
 */
export function destinationOf(url: string): string {
  if (!URL.canParse(url)) return (url.split(/[?#]/)[0] ?? '').replace(/\/\/[^/]*@/, '//');
  const { origin, protocol, host, pathname } = new URL(url);
  return origin === 'null'
    ? `${protocol}//${host}${pathname}`
    : `${origin}${pathname === '/' && !hasPath(url) ? '' : pathname}`;
}

function hasPath(url: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]+\//i.test(url);
}
