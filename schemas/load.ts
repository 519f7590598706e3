import avsc from 'avsc';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Schemas that other schemas embed; they are loaded first. */
const EMBEDDED = ['event-row'];

export interface LoadedSchema {
  /** File name without the ending, for example `raw-record.v1`. */
  id: string;
  /** For example `raw-record`. */
  subject: string;
  version: number;
  type: avsc.Type;
  /** The schema with its embedded schemas inlined. */
  document: avsc.Schema;
}

/** Reads every `<subject>.v<version>.avsc`, lower versions first. Throws for invalid ones. */
export function loadSchemas(folder: string): LoadedSchema[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.avsc'))
    .map((file) => {
      const parts = /^([a-z-]+)\.v(\d+)\.avsc$/.exec(file);
      if (!parts?.[1] || !parts[2])
        throw new Error(`schemas/${file}: name it <subject>.v<version>.avsc`);
      return { file, subject: parts[1], version: Number(parts[2]) };
    })
    .sort(
      (a, b) =>
        rank(a.subject) - rank(b.subject) ||
        a.subject.localeCompare(b.subject) ||
        a.version - b.version,
    );
  const embedded = new Map<string, avsc.Type>();
  return files.map(({ file, subject, version }) => {
    const document = JSON.parse(readFileSync(join(folder, file), 'utf8')) as avsc.Schema;
    const type = avsc.Type.forSchema(document, { registry: Object.fromEntries(embedded) });
    if (EMBEDDED.includes(subject) && type.name !== undefined) embedded.set(type.name, type);
    return { id: `${subject}.v${version}`, subject, version, type, document };
  });
}

function rank(subject: string): number {
  return EMBEDDED.includes(subject) ? 0 : 1;
}
