import { list } from 'isbot';

/**
 * Patterns of isbot that are not used here, because they flag what is no crawler: shapes of a
 * User-Agent that a shop's own app has as well ("ShopApp/1.0"), HTTP libraries that backends post
 * with, and words that occur in names of ordinary apps and devices.
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

/**
 * What isbot offers, less UNUSED_PATTERNS; with a web address, which crawlers leave so that they
 * can be asked to stop.
 */
const CRAWLER = new RegExp(
  [...list.filter((pattern) => !UNUSED_PATTERNS.has(pattern)), 'https?://', 'slurp\\b'].join('|'),
  'i',
);

/**
 * Says of itself that it is one. Asked before the libraries: "python-requests (mybot)" is a bot.
 * CUBOT is a brand of telephones.
 */
const SAYS_SO = /(?<!\bcu)bots?(?![a-z])|crawl|spider|scrap(?:er|ing|y)/i;

/**
 * HTTP libraries and platforms that a backend posts with; nothing about them says that the person
 * behind the event is a machine.
 */
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

/**
 * True for the User-Agent of an HTTP library or of a platform's backend: it names no browser and no
 * device.
 */
export function isHttpLibrary(userAgent: string): boolean {
  return HTTP_LIBRARY.test(userAgent);
}

/**
 * True for a User-Agent that says it is a bot, or that is known to crawl. Not for HTTP libraries,
 * an app's own name, or nothing at all: orders that a shop's backend posts would vanish from
 * reports.
 */
export function isBotUserAgent(userAgent: string): boolean {
  if (userAgent === '') return false;
  return SAYS_SO.test(userAgent) || (!HTTP_LIBRARY.test(userAgent) && CRAWLER.test(userAgent));
}
