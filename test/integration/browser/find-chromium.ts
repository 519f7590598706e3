import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/**
 * Where a Chromium stands: CHROMIUM_PATH, or the first of its names in PATH. Throws an Error that
 * says how to get one: a test without it fails, it is never skipped.
 */
export function findChromium(env: NodeJS.ProcessEnv): string {
  const given = env['CHROMIUM_PATH'];
  if (given !== undefined && given !== '') {
    if (isExecutable(given)) return given;
    throw new Error(`CHROMIUM_PATH=${given} cannot be executed: point it at a Chromium or Chrome`);
  }
  for (const name of NAMES)
    for (const folder of (env['PATH'] ?? '').split(delimiter))
      if (folder !== '' && isExecutable(join(folder, name))) return join(folder, name);
  throw new Error(
    'this test drives a browser and found none: install it (apt-get install chromium; ./ravand test does that where it may), or set CHROMIUM_PATH to a Chromium or Chrome',
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
