import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ready } from '../cli/stack/ready.ts';

/** The running stack under RAVAND_HOME, or under .ravand of this checkout. */
export function benchStack(): Ready {
  const home = process.env['RAVAND_HOME'] ?? '.ravand';
  return JSON.parse(readFileSync(join(home, 'run', 'ready.json'), 'utf8')) as Ready;
}
