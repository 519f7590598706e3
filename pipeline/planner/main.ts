import { runService } from '../../platform/run-service.ts';
import { start } from './app.ts';
import { settings } from './config.ts';

await runService({ name: 'planner', settings, followsLayout: true, start });
