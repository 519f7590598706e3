import { i18n, type Messages } from '@lingui/core';
import { currentLanguage } from './language.ts';

const catalogues = import.meta.glob<{ messages: Messages }>([
  '../../features/*/texts/*.po',
  '!../../features/sign-in/texts/*.po',
]);
const loaded = new Set<string>();

/**
 * Loads the texts of features, such as `overview`, in the language of the page. Before its texts
 * are loaded a page must not be rendered.
 */
export async function loadTexts(...features: readonly string[]): Promise<void> {
  const language = currentLanguage();
  await Promise.all(
    features.map(async (feature) => {
      const name = `${language}/${feature}`;
      if (loaded.has(name)) return;
      const load = catalogues[`../../features/${feature}/texts/${language}.po`];
      if (!load) throw new Error(`no texts of ${feature} in the language ${language}`);
      const { messages } = await load();
      i18n.load(language, messages);
      loaded.add(name);
    }),
  );
}
