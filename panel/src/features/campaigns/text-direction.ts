const LIQUID = /\{\{[^]*?\}\}|\{%[^]*?%\}/g;
const ADDRESS = /https?:\/\/\S+/g;
const NOT_SHOWN = /<(style|script|title)\b[^]*?<\/\1\s*>|<!--[^]*?-->|<[^>]*>/gi;
const DIRECTED = /(?=\p{L})(?:\p{Script=Arabic}|\p{Script=Latin})/gu;
const LATIN = /\p{Script=Latin}/u;

/**
 * The direction of a template's text. Names of variables are not counted: they are Latin, and what
 * takes their place mostly is not.
 */
export function textDirection(text: string): 'rtl' | 'ltr' | 'auto' {
  const characters = text.replaceAll(LIQUID, ' ').replaceAll(ADDRESS, ' ').match(DIRECTED) ?? [];
  if (characters.length === 0) return 'auto';
  const latin = characters.filter((character) => LATIN.test(character)).length;
  return (characters.length - latin) * 2 >= latin ? 'rtl' : 'ltr';
}

/** HTML as it is sent: from right to left where it is Persian and does not say otherwise. */
export function directedHtml(html: string): string {
  const shown = html.replaceAll(LIQUID, ' ').replaceAll(NOT_SHOWN, ' ');
  const isPersian = !/<[^>]*\sdir\s*=/i.test(html) && textDirection(shown) === 'rtl';
  return isPersian ? `<div dir="rtl" style="text-align:right">${html}</div>` : html;
}
