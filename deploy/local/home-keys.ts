import { readFileSync } from 'node:fs';
import { makeSealingKey } from '../../platform/sealing.ts';
import { rotatedTrackingKeys } from '../../platform/tracking/tracking-settings.ts';
import type { Home } from '../../cli/stack/home.ts';
import { writePrivateFile } from '../../cli/json-file.ts';

type KeyFiles = Pick<Home, 'sealingKeyFile' | 'trackingKeysFile'>;

interface HomeKey {
  setting: 'SEALING_KEY' | 'TRACKING_KEYS';
  file: keyof KeyFiles;
  make: () => string;
}

/** The keys that a stack makes for itself, each the value of a setting. */
const KEYS: readonly HomeKey[] = [
  { setting: 'SEALING_KEY', file: 'sealingKeyFile', make: () => makeSealingKey('local') },
  { setting: 'TRACKING_KEYS', file: 'trackingKeysFile', make: () => rotatedTrackingKeys('') },
];

/**
 * Makes the keys of a home once, readable by its owner only. Never replaces a file: without its key
 * every sealed secret, and every link in messages that were sent, is lost.
 */
export function ensureHomeKeys(home: KeyFiles): void {
  for (const { file, make } of KEYS)
    if (readKey(home[file]) === undefined) writePrivateFile(home[file], `${make()}\n`);
}

function readKey(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim();
    return text === '' ? undefined : text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The keys of a home as an environment, without those that the environment sets. */
export function homeKeys(
  home: KeyFiles,
  env: NodeJS.ProcessEnv,
): Partial<Record<HomeKey['setting'], string>> {
  return Object.fromEntries(
    KEYS.flatMap(({ setting, file }) => {
      const key = (env[setting] ?? '').trim() === '' ? readKey(home[file]) : undefined;
      return key === undefined ? [] : [[setting, key]];
    }),
  );
}
