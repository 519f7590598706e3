import { startTransition } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueryClient } from '../shared/api/query-client.ts';
import { readStart } from '../shared/session/start.ts';
import { sessionQuery } from '../shared/session/session.ts';
import { App } from './app.tsx';
import { loadFirstTexts } from './first-texts/load.ts';
import { createPanelRouter } from './router.ts';

/**
 * Starts the application. Who is signed in is in the document, or else is read together with the
 * texts. A page that the document shows already stays until the application can show it, too.
 */
export async function startApp(document: Document): Promise<void> {
  const root = document.getElementById('root');
  if (!root) throw new Error('index.html has no element with the id root');
  const queryClient = createQueryClient(() => {
    queryClient.setQueryData(sessionQuery.queryKey, null);
    void router.invalidate();
  });
  const router = createPanelRouter(queryClient);
  const { session } = readStart(document);
  if (session === undefined) void queryClient.query(sessionQuery).catch(() => undefined);
  else queryClient.setQueryData(sessionQuery.queryKey, session);
  await loadFirstTexts();
  if (root.firstElementChild) await router.load();
  // In slices, so that the page answers to its visitor meanwhile.
  startTransition(() => createRoot(root).render(<App {...{ queryClient, router }} />));
}
