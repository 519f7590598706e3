/** The headers that say where a request comes from. */
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
 * Refuses unsafe requests of other sites (docs/control-plane.md, "Other sites"). A browser must
 * send an origin of ours: `panelOrigin`, or the Host of the request when that is undefined. A
 * client that sends neither header is not a browser, and has no cookie but its own. A browser's
 * body must have the type JSON, which no form can send, and no foreign script without a preflight.
 * Undefined: it may pass.
 */
export function refuseCrossSite(
  source: RequestSource,
  panelOrigin: string | undefined,
): 'cross_site' | 'unsupported_media_type' | undefined {
  const { method, origin, fetchSite, host, contentType, hasBody } = source;
  if (SAFE_METHODS.includes(method)) return undefined;
  if (origin === undefined && fetchSite === undefined) return undefined;
  if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none')
    return 'cross_site';
  if (origin !== undefined && !isSameOrigin(origin, panelOrigin, host)) return 'cross_site';
  if (hasBody && !/^application\/json\s*(;|$)/i.test(contentType ?? ''))
    return 'unsupported_media_type';
  return undefined;
}

function isSameOrigin(
  origin: string,
  panelOrigin: string | undefined,
  host: string | undefined,
): boolean {
  if (panelOrigin !== undefined) return origin === panelOrigin;
  // `null`, the origin of sandboxed pages, is no URL.
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
