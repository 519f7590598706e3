import type { NamedSettings } from '../service-settings.ts';

interface Row {
  name: string;
  fallback: string;
  unit: string;
  secret: boolean;
  doc: string;
  readers: string[];
}

/** Every setting once, by name, with its readers. Throws when two describe it differently. */
export function settingRows(readers: readonly NamedSettings[]): Row[] {
  const rows = new Map<string, Row>();
  for (const { reader, table } of readers) {
    for (const [name, { doc, unit, secret, fallbackText: fallback }] of Object.entries(table)) {
      const row = rows.get(name);
      if (!row) rows.set(name, { name, unit, secret, fallback, doc, readers: [reader] });
      else if (row.doc !== doc || row.fallback !== fallback)
        throw new Error(`${name}: ${reader} and ${row.readers.join(', ')} describe it differently`);
      else row.readers.push(reader);
    }
  }
  return [...rows.values()].sort((a, b) => a.name.localeCompare(b.name));
}

/** The text of docs/settings.md. */
export function settingsPage(readers: readonly NamedSettings[]): string {
  const lines = settingRows(readers).map((row) => {
    const fallback = row.fallback === '' ? 'empty' : `\`${row.fallback}\``;
    const by = row.readers.length === readers.length ? 'all' : row.readers.join(', ');
    return `| \`${row.name}\` | ${fallback} | ${row.unit}${row.secret ? ', secret' : ''} | ${by} | ${row.doc} |`;
  });
  return [
    '# Settings',
    '',
    'Settings are environment variables. `./ravand up` passes each service those that it reads. When a value',
    'cannot be read, the start fails and names the variable, its value and what is expected.',
    'The value of a setting marked _secret_ may be in a file instead, which NAME_FILE names. How to connect to',
    'servers of your own: [operations/connections.md](operations/connections.md).',
    'This page and `.env.example` are generated: `node deploy/generate/write.ts`. A test compares them with',
    'the code.',
    '',
    '| Name | Default | Unit | Read by | Meaning |',
    '| --- | --- | --- | --- | --- |',
    ...lines,
    '',
  ].join('\n');
}

const WIDTH = 100;

/** The text of .env.example: every setting with its default, commented out. */
export function envExample(readers: readonly NamedSettings[]): string {
  const entries = settingRows(readers).map(({ name, fallback, doc }) => {
    const value = /[\s#"'$`\\]/.test(fallback) ? JSON.stringify(fallback) : fallback;
    return [...wrapComment(doc), `# ${name}=${value}`, ''].join('\n');
  });
  const head = [
    '# Every setting with its default: uncomment and change what you need, then',
    '#   set -a; . ./.env; set +a; ./ravand up',
    '# Units and readers: docs/settings.md. Generated: node deploy/generate/write.ts',
    '',
  ];
  return [...head, ...entries].join('\n');
}

function wrapComment(text: string): string[] {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
