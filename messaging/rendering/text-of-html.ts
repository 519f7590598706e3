import { compile } from 'html-to-text';

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: 100, ellipsis: '' },
  selectors: [
    {
      selector: 'a',
      options: { hideLinkHrefIfSameAsText: true, ignoreHref: false, noAnchorUrl: true },
    },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
      selector,
      options: { uppercase: false },
    })),
  ],
});

/** The text part of an e-mail that has only HTML. */
export function textOfHtml(html: string): string {
  return convert(html).trim();
}
