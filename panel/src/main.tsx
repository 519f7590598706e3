import './shared/styles/tokens.css';
import './shared/styles/fonts.css';
import './shared/styles/base.css';
import { startApp } from './app/start.tsx';

await startApp(document);
