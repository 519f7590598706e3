export const LANGUAGES = ['fa', 'en'] as const;
export type Language = (typeof LANGUAGES)[number];

const YEAR_SECONDS = 31_536_000;

let prerendered: Language = 'fa';

/** The language of pages that are rendered where there is no document. */
export function prerenderIn(language: Language): void {
  prerendered = language;
}

/** The language of this page: the server writes it into the document, by the cookie `language`. */
export function currentLanguage(): Language {
  if (import.meta.env.SSR) return prerendered;
  return document.documentElement.lang === 'en' ? 'en' : 'fa';
}

/** Remembers a language and loads the page again in it: its state is in its URL. */
export function changeLanguage(language: Language): void {
  document.cookie = `language=${language}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax`;
  location.reload();
}

/** The locale of formats and of React Aria. */
export function localeOf(language: Language): string {
  return language === 'fa' ? 'fa-IR' : 'en-GB';
}
