import { buildPanel } from '../../../panel/build.ts';
import { PANEL_DIR } from '../../../panel/folder.ts';

const folder = process.env['PANEL_DIR']?.trim() ?? '';
console.log(`panel: ${await buildPanel(folder === '' ? PANEL_DIR : folder)}`);
