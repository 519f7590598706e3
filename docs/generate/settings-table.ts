import type { SettingsTable } from '../../platform/settings.ts';

export interface PartSettings {
  part: string;
  table: SettingsTable;
}

/**
 * The table of docs/settings.md: every setting once, with the parts that read it. Throws when two
 * parts describe one name differently.
 */
export function settingsDocument(parts: readonly PartSettings[]): string {
  const rows = new Map<string, { unit: string; fallback: string; doc: string; parts: string[] }>();
  for (const { part, table } of parts) {
    for (const [name, setting] of Object.entries(table)) {
      const row = rows.get(name);
      if (!row)
        rows.set(name, {
          unit: setting.unit,
          fallback: setting.fallbackText,
          doc: setting.doc,
          parts: [part],
        });
      else if (row.doc !== setting.doc || row.fallback !== setting.fallbackText)
        throw new Error(`${name}: ${part} and ${row.parts.join(', ')} describe it differently`);
      else row.parts.push(part);
    }
  }
  const everywhere = parts.length;
  const lines = [...rows]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, row]) => {
      const fallback = row.fallback === '' ? 'empty' : `\`${row.fallback}\``;
      return `| \`${name}\` | ${fallback} | ${row.unit} | ${row.parts.length === everywhere ? 'all' : row.parts.join(', ')} | ${row.doc} |`;
    });
  return [
    '# Settings',
    '',
    'Environment variables. `./ravand up` passes its environment on to the parts. A value that cannot be read stops the start with the name, the value and what is expected.',
    'This page is made from the code by `node docs/generate/write-settings.ts`; a test keeps it true.',
    '',
    '| Name | Default | Unit | Read by | Meaning |',
    '| --- | --- | --- | --- | --- |',
    ...lines,
    '',
  ].join('\n');
}
