import type { NamedSettings } from './service-settings.ts';

/**
 * Settings that an environment sets to something else than their default, as audit lines show them:
 * of a secret, and of a URL with a password, only that it is set.
 */
export function changedSettings(
  readers: readonly NamedSettings[],
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  const changed = readers
    .flatMap(({ table }) => Object.entries(table))
    .flatMap(([name, { secret, fallbackText }]): [string, string][] => {
      const text = env[name]?.trim() ?? '';
      if (text === '' || text === fallbackText) return [];
      return [[name, secret ? '(set)' : text]];
    });
  return Object.fromEntries(changed.sort(([a], [b]) => (a < b ? -1 : 1)));
}
