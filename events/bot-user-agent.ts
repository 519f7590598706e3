import { list } from 'isbot';

/**
 * Patterns of isbot that are disabled because they match non-crawlers: forms of a User-Agent that a
 * shop's own app has too ("ShopApp/1.0"), HTTP libraries of backends, and words in names of
 * ordinary apps and devices.
 */
export const UNUSED_PATTERNS: ReadonlySet<string> = new Set([
  ';\\s\\w+;$',
  '\\(\\)',
  '\\|',
  '\\.com\\b',
  '\\b\\w+/1\\.0;',
  '^[<\\(;]',
  '^[\\w \\.\\-\\(?:\\):%]+(?:/v?\\d+(?:\\.\\d+)?(?:\\.\\d{1,10})*?)?(?:,|$)',
  '^[\\w\\-]+/[\\w]+$',
  '^[^ ]{50,}$',
  '^\\d+\\b',
  '^\\w+/[\\w\\(\\)]*$',
  '^\\w+/\\d\\.\\d\\s\\([\\w@]+\\)$',
  '^mozilla/\\d\\.\\d\\s[\\w\\.-]+$',
  '^mozilla/\\d\\.\\d\\s\\((?:compatible;)?(?:\\s?[\\w\\d-.]+[\\s/]\\d+\\.\\d+)?\\)$',
  '(?<!lib)http',
  '^apache/',
  '^client/',
  '^jetty/',
  '^php',
  '^postman',
  '^python',
  '^rest',
  '^wget',
  '\\bperl\\b',
  'java(?!;)',
  'library',
  'node\\b',
  'server',
  'url',
  '(?:^|[^g])news(?!sapphire)',
  '\\btime/',
  '^\\w*search\\b',
  '^active',
  '^custom',
  '^discourse',
  '^dispatch/\\d',
  '^downcast/',
  '^email',
  '^exodusmovement',
  '^netsurf',
  '^offline',
  '^rank',
  '^read',
  '^reed',
  '^snapchat',
  '^track',
  '^zdm/\\d',
  'advisor',
  'agent\\b',
  'audit',
  'capture',
  'catch',
  'check\\b',
  'chromeframe',
  'discovery',
  'download',
  'grab',
  'insight',
  'measure',
  'optimize',
  'radar',
  'tools',
]);

/** isbot's patterns without UNUSED_PATTERNS, plus web addresses: crawlers include theirs. */
const CRAWLER = new RegExp(
  [...list.filter((pattern) => !UNUSED_PATTERNS.has(pattern)), 'https?://', 'slurp\\b'].join('|'),
  'i',
);

/** Declares itself a bot, libraries included ("python-requests (mybot)"). CUBOT is a phone. */
const DECLARED_BOT = /(?<!\bcu)bots?(?![a-z])|crawl|spider|scrap(?:er|ing|y)/i;

/** HTTP libraries and backend platforms: they do not make the event's person a machine. */
const HTTP_LIBRARY = new RegExp(
  `^(?:${[
    'aiohttp|akka-http|alamofire|apache-httpclient|apache-cxf|asynchttpclient|axios|browser-?http|bun/|cfnetwork|cpp-httplib|curl|dalvik|dart|deno',
    'elixir|ex_?cloud|faraday|fetch|finagle|flutter|go-http-client|go-resty|google-api|google-http|got[ /(]|grequests|guzzle|hackney|httparty|http[_. -]?client',
    'http_request|http\\.rb|httpie|httpoison|httpx|hyper/|insomnia|java|jakarta|jersey|jetty|jodd|ktor|laravel|libcurl|libwww|lua|lwp|mechanize|mint/|needle',
    'net::http|node|okhttp|open-?uri|paw/|perl|pecl|php|postman|python|pycurl|r-curl|reactor-?netty|refit|reqwest|requests|rest-?client|restsharp',
    'resteasy|retrofit|ruby|rust|scala|spring|superagent|swift|symfony|treq|tornado|typhoeus|undici|unirest|ureq|urlgrabber|urllib|vert\\.?x|webclient|wget',
    'winhttp|woocommerce|wordpress|xmlhttp|zend|zio-http',
  ].join('|')})`,
  'i',
);

/** True for an HTTP library or backend platform: it names no browser and no device. */
export function isHttpLibrary(userAgent: string): boolean {
  return HTTP_LIBRARY.test(userAgent);
}

/**
 * True for a User-Agent that declares a bot or is a known crawler. False for HTTP libraries, an
 * app's own name, or an empty header: otherwise orders from a shop's backend would be missing in
 * reports.
 */
export function isBotUserAgent(userAgent: string): boolean {
  if (userAgent === '') return false;
  return DECLARED_BOT.test(userAgent) || (!HTTP_LIBRARY.test(userAgent) && CRAWLER.test(userAgent));
}
