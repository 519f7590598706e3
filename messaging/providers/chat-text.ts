import type { RenderedContent } from './provider.ts';

/** What a messenger shows: the title, the text and the link, each on lines of its own. */
export function chatText({ title, text, url }: RenderedContent): string {
  const link = text.includes(url) ? '' : url;
  return [title, text, link].filter((part) => part !== '').join('\n');
}
