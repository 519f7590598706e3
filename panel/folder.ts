import { join } from 'node:path';

/** Where `./ravand up` builds the panel, and the control plane reads it from by default. */
export const PANEL_DIR = join(import.meta.dirname, '../.ravand/panel');
