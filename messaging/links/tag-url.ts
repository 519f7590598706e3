import type { UtmParameters } from '../delivery/prepare-messages.ts';

/** What links are tagged with. */
export interface LinkTags {
  messageId: string;
  utm: UtmParameters;
}

/** Replaces text.slice(start, end); ascending, without overlaps. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

const HTTP = /^\s*https?:\/\/[^\s/?#]/i;
/** The pages of events/channels/tracking-token.ts: unsubscribing and opening are no clicks. */
const OWN_PAGE = /\/e\/[oup]\/[A-Za-z0-9_-]{30,}\s*$/;
/** What the web SDK reads when somebody lands on the page (ingest 6.1). */
const MESSAGE = 'sg_mid';
const UTM_NAMES = {
  source: 'utm_source',
  medium: 'utm_medium',
  name: 'utm_campaign',
  term: 'utm_term',
  content: 'utm_content',
} as const;

/**
 * The edits that give an http or https address the message id and the utm parameters. Parameters
 * and the fragment that it has stay byte for byte, and its own utm parameters win; but the message
 * id of another message, as in a link that was copied from it, is replaced. No edits for other
 * addresses.
 */
export function tagUrl(url: string, { messageId, utm }: LinkTags): Edit[] {
  if (!HTTP.test(url) || OWN_PAGE.test(url)) return [];
  const hash = url.indexOf('#');
  const end = hash < 0 ? url.trimEnd().length : hash;
  const question = url.slice(0, end).indexOf('?');
  const own = question < 0 ? [] : parametersOf(url, question + 1, end);
  const edits = own
    .filter(({ name }) => name === MESSAGE)
    .map(({ nameEnd, end: to }) => ({ start: nameEnd, end: to, text: `=${encode(messageId)}` }));
  const added = [
    ...(edits.length > 0 ? [] : [`${MESSAGE}=${encode(messageId)}`]),
    ...Object.entries(UTM_NAMES).flatMap(([key, name]) => {
      const value = utm[key as keyof UtmParameters];
      if (value === undefined || own.some((one) => one.name === name)) return [];
      return [`${name}=${encode(value)}`];
    }),
  ];
  if (added.length === 0) return edits;
  const query = url.slice(question + 1, end);
  const separator = question < 0 ? '?' : query === '' || query.endsWith('&') ? '' : '&';
  return [...edits, { start: end, end, text: separator + added.join('&') }];
}

/** @param edits of the text */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let out = '';
  let at = 0;
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return out + text.slice(at);
}

interface Parameter {
  name: string;
  nameEnd: number;
  end: number;
}

function parametersOf(url: string, from: number, to: number): Parameter[] {
  const parameters: Parameter[] = [];
  let start = from;
  for (const written of url.slice(from, to).split('&')) {
    const [name = ''] = written.split('=', 1);
    parameters.push({
      name: decode(name),
      nameEnd: start + name.length,
      end: start + written.length,
    });
    start += written.length + 1;
  }
  return parameters;
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Safe in every kind of attribute and in Markdown, too. */
function encode(value: string): string {
  return encodeURIComponent(value.toWellFormed())
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%3A', ':');
}
