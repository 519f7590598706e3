import './shared/styles/tokens.css';
import './shared/styles/fonts.css';
import './shared/styles/base.css';
import { startApp } from './app/start.tsx';

// Not awaited: pages import modules of this chunk, and would wait for it while it waits for them.
startApp(document).catch((error: unknown) => {
  document.getElementById('failed')?.removeAttribute('hidden');
  throw error;
});
