import { readFileSync } from 'node:fs';
import { makeSealingKey } from '../../platform/sealing.ts';
import type { Home } from '../../cli/stack/home.ts';
import { writePrivateFile } from '../../cli/json-file.ts';

type KeyFile = Pick<Home, 'sealingKeyFile'>;

/**
 * Makes the SEALING_KEY of a home once, readable by its owner only. Never replaces a file: without
 * the key every sealed secret is lost.
 */
export function ensureSealingKey(home: KeyFile): void {
  if (readSealingKey(home) === undefined)
    writePrivateFile(home.sealingKeyFile, `${makeSealingKey('local')}\n`);
}

function readSealingKey({ sealingKeyFile }: KeyFile): string | undefined {
  try {
    const text = readFileSync(sealingKeyFile, 'utf8').trim();
    return text === '' ? undefined : text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The SEALING_KEY of a home as an environment; empty when the environment sets one. */
export function sealingEnv(home: KeyFile, env: NodeJS.ProcessEnv): { SEALING_KEY?: string } {
  const key = (env['SEALING_KEY'] ?? '').trim() === '' ? readSealingKey(home) : undefined;
  return key === undefined ? {} : { SEALING_KEY: key };
}
