/** What a request tells of where it comes from. */
export interface RequestSource {
  method: string;
  /** Header Origin; scripts of old browsers and programs send none. */
  origin: string | undefined;
  /** Header Sec-Fetch-Site, which only browsers send and no script can set. */
  fetchSite: string | undefined;
  /** Header Host. */
  host: string | undefined;
  contentType: string | undefined;
  hasBody: boolean;
}

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Judges an unsafe request (docs/control-plane.md, "Other sites"): a browser must say that the page
 * is ours. With `panelOrigin` that is the only origin taken, otherwise an Origin must have the Host
 * that the request went to. Who sends neither header is no browser and has no cookie but its own. A
 * body of a browser must be JSON by its type, which no form can send and no foreign script without
 * asking first. Undefined: it may pass.
 */
export function refuseForeign(
  source: RequestSource,
  panelOrigin: string | undefined,
): 'cross_site' | 'unsupported_media_type' | undefined {
  const { method, origin, fetchSite, host, contentType, hasBody } = source;
  if (SAFE_METHODS.includes(method)) return undefined;
  if (origin === undefined && fetchSite === undefined) return undefined;
  if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none')
    return 'cross_site';
  if (origin !== undefined && !isOwn(origin, panelOrigin, host)) return 'cross_site';
  if (hasBody && !/^application\/json\s*(;|$)/i.test(contentType ?? ''))
    return 'unsupported_media_type';
  return undefined;
}

function isOwn(origin: string, panelOrigin: string | undefined, host: string | undefined): boolean {
  if (panelOrigin !== undefined) return origin === panelOrigin;
  // `null`, the origin of sandboxed pages, is no URL.
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
