import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PARTS } from './parts.ts';
import { settingsDocument } from './settings-table.ts';

writeFileSync(join(import.meta.dirname, '../settings.md'), settingsDocument(PARTS));
