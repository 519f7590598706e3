import { i18n, type Messages } from '@lingui/core';
import { currentLanguage, type Language } from '../../shared/language/language.ts';

/** One request for all texts of the first page: panel/build.ts preloads it with the document. */
const TEXTS: Readonly<Record<Language, () => Promise<{ messages: Messages }>>> = {
  fa: () => import('./fa.ts'),
  en: () => import('./en.ts'),
};

export async function loadFirstTexts(): Promise<void> {
  const language = currentLanguage();
  const { messages } = await TEXTS[language]();
  i18n.loadAndActivate({ locale: language, messages });
}
