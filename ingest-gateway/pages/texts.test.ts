import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { PREFERENCES_TEXT, preferencesPage } from './preferences-page.ts';
import { UNSUBSCRIBE_TEXT, unsubscribePage } from './unsubscribe-page.ts';

/** The words that a person sees, without the style. */
function wordsOf({ body }: { body: string | Buffer }): string {
  const [, main = ''] = /<main>([^]*)<\/main>/.exec(body.toString()) ?? [];
  return createHash('sha256').update(main).digest('hex').slice(0, 12);
}

it('the version of a text that consents name changes with the text', () => {
  const accountName = 'فروشگاه';
  const unsubscribe = unsubscribePage({
    ...{ stage: 'asks', channel: 'email', accountName, preferences: 'token' },
  });
  const preferences = preferencesPage({
    ...{ stage: 'asks', accountName, shown: new Map([['email', 'subscribed']]) },
    checked: new Set(['email']),
  });
  // When this fails, give the text a new version and write the new hash here.
  expect([UNSUBSCRIBE_TEXT, wordsOf(unsubscribe)]).toEqual(['unsubscribe-fa-1', '44cfa98893c4']);
  expect([PREFERENCES_TEXT, wordsOf(preferences)]).toEqual(['preferences-fa-1', 'a9861ec4f5cf']);
});
