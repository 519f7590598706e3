import { isBotUserAgent, isHttpLibrary } from '../bot-user-agent.ts';

/** Who loaded an open pixel: a person's program, a proxy of a mail provider, or a bot. */
export type OpenedBy = 'person' | 'proxy' | 'bot';

/**
 * Proxies of mail providers: they load images for people, and some load them before anybody reads.
 * Apple's Mail Privacy Protection sends `Mozilla/5.0` and nothing else.
 */
const MAIL_PROXY =
  /GoogleImageProxy|ggpht\.com|YahooMailProxy|YahooCacheSystem|image ?proxy|mail ?proxy|^Mozilla\/5\.0$/i;

/** Programs that fetch every link and image of a message to judge it. */
const SCANNER =
  /Barracuda|Proofpoint|Mimecast|FireEye|Symantec|MessageLabs|TrendMicro|Sophos|Cisco(?:-| )?(?:IronPort|Umbrella)|Forcepoint|Zscaler|FortiMail|BitDefender|BingPreview|SafeLinks|SkypeUriPreview|LinkPreview/i;

/** HTTP libraries that mail apps of phones load images with. */
const PHONE_LIBRARY = /dalvik|cfnetwork|okhttp|alamofire/i;

/**
 * Says who loaded an open pixel; nothing is dropped for it (docs/channels.md, Pages of messages).
 * @param purpose Sec-Purpose, Purpose or X-Moz: a program that fetches ahead of a person says so
 */
export function openedBy({ userAgent, purpose }: { userAgent: string; purpose: string }): OpenedBy {
  if (MAIL_PROXY.test(userAgent) || /prefetch|preview/i.test(purpose)) return 'proxy';
  if (userAgent === '' || SCANNER.test(userAgent)) return 'bot';
  if (PHONE_LIBRARY.test(userAgent)) return 'person';
  return isBotUserAgent(userAgent) || isHttpLibrary(userAgent) ? 'bot' : 'person';
}
