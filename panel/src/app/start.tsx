import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueryClient } from '../shared/api/query-client.ts';
import { sessionQuery } from '../shared/session/session.ts';
import { loadFirstTexts } from './first-texts/load.ts';
import { createPanelRouter } from './router.ts';

/** Starts the application. Who is signed in and the texts are read at the same time. */
export async function startApp(document: Document): Promise<void> {
  const root = document.getElementById('root');
  if (!root) throw new Error('index.html has no element with the id root');
  const queryClient = createQueryClient(() => {
    queryClient.setQueryData(sessionQuery.queryKey, null);
    void router.invalidate();
  });
  const router = createPanelRouter(queryClient);
  void queryClient.query(sessionQuery).catch(() => undefined);
  await loadFirstTexts();
  createRoot(root).render(
    <StrictMode>
      <I18nProvider i18n={i18n}>
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </I18nProvider>
    </StrictMode>,
  );
}
