/**
 * The URLs of the servers that a URL with several hosts names: scheme://user:password@a:1,b:2/path
 * is a:1 and b:2, with the same user, password and path.
 */
export function splitHosts(url: string): string[] {
  const parts = /^([a-z]+:\/\/(?:[^/?#@]*@)?)([^/?#@]*)(.*)$/is.exec(url);
  const [, start = '', hosts = '', rest = ''] = parts ?? [];
  if (!hosts.includes(',')) return [url];
  return hosts.split(',').map((host) => `${start}${host.trim()}${rest}`);
}

/** The first of its servers: for what needs one address. */
export function firstServer(url: string): URL {
  return new URL(splitHosts(url)[0] ?? url);
}
