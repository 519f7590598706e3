import { registerHooks } from 'node:module';
import type * as Core from '../../events/normalise.ts';

const PLAIN = '?without-persian';
const STUB =
  "import { truncateBytes } from './bytes.ts'; export const normalisePersian = truncateBytes;";

/**
 * A second copy of the event core in this process, in which Persian normalisation cuts texts and
 * does nothing else: what it is measured against.
 */
export async function coreWithoutPersian(): Promise<typeof Core> {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const isInside =
        context.parentURL?.endsWith(PLAIN) === true && found.url.includes('/events/');
      return isInside ? { ...found, url: `${found.url}${PLAIN}` } : found;
    },
    load(url, context, next) {
      return url.endsWith(`/events/persian.ts${PLAIN}`)
        ? { format: 'module', shortCircuit: true, source: STUB }
        : next(url, context);
    },
  });
  const core = new URL(`../../events/normalise.ts${PLAIN}`, import.meta.url).href;
  const loaded = (await import(core)) as typeof Core;
  hooks.deregister();
  return loaded;
}
