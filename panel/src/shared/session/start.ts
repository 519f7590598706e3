import type { Session } from './session.ts';

/** What the control plane writes into each document, as JSON. */
export interface Start {
  /** Who is signed in; null: nobody; undefined: it was not known. */
  session?: Session | null;
}

/** The development server's documents have nothing in it. */
export function readStart(document: Document): Start {
  return JSON.parse(document.getElementById('start')?.textContent ?? '{}') as Start;
}
