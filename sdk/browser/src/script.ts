import { makeRavand, type EarlyRavand } from './ravand.ts';
import type { Ravand } from './types.ts';

// The file /sdk/v1.js of the ingest host. `ravand` may be there: the snippet makes it.
declare global {
  interface Window {
    ravand?: EarlyRavand & Partial<Ravand>;
  }
  /** Of the files beside this one; from the build. */
  const RAVAND_RELEASE: string;
}

const found = (window.ravand ??= {});
if (found.q || !found.load) {
  const address = (document.currentScript as HTMLScriptElement | null)?.src ?? '';
  const [host] = address.split('/sdk/') as [string];
  makeRavand(
    found,
    host,
    (name, from) => import(/* @vite-ignore */ `${from}/sdk/${name}.${RAVAND_RELEASE}.js`),
  );
}
