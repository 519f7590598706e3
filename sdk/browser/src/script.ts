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
  const [host = ''] = ((document.currentScript as HTMLScriptElement | null)?.src ?? '').split(
    '/sdk/',
  );
  makeRavand(
    found,
    host,
    (name) => import(/* @vite-ignore */ `${host}/sdk/${name}.${RAVAND_RELEASE}.js`),
  );
}
