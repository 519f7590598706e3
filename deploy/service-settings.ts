import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SettingsTable } from '../platform/settings.ts';
import { SERVICES } from '../schemas/topology.ts';

export interface NamedSettings {
  /** Who reads them: a service of the topology, or a command. */
  reader: string;
  table: SettingsTable;
  /** What is wrong with settings together. */
  problemsOf?: (config: never) => string[];
}

/** The settings of every service of the topology, from its config.ts. */
export async function serviceSettings(): Promise<NamedSettings[]> {
  return await Promise.all(
    SERVICES.map(async ({ name, folder }) => {
      const path = join(import.meta.dirname, '..', folder, 'config.ts');
      const { settings, problemsOf } = (await import(pathToFileURL(path).href)) as {
        settings: SettingsTable;
        problemsOf?: NonNullable<NamedSettings['problemsOf']>;
      };
      return { reader: name, table: settings, ...(problemsOf ? { problemsOf } : {}) };
    }),
  );
}
