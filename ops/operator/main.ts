import { runService } from '../../platform/run-service.ts';
import { start } from './app.ts';
import { settings } from './config.ts';

await runService({ name: 'operator', settings, start, followsLayout: true });
