import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allSettings } from './all-settings.ts';
import { envExample, settingsPage } from './settings-page.ts';

/** Writes docs/settings.md and .env.example. */
const checkout = join(import.meta.dirname, '../..');
const readers = await allSettings();
writeFileSync(join(checkout, 'docs/settings.md'), settingsPage(readers));
writeFileSync(join(checkout, '.env.example'), envExample(readers));
