import { runService } from '../platform/run-service.ts';
import { start } from './app.ts';
import { problemsOf, settings } from './config.ts';

await runService({ name: 'control-plane', settings, problemsOf, followsLayout: true, start });
