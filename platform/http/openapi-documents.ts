import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';

const CHECKOUT = join(import.meta.dirname, '../..');

/** A generated JSON document; the path is relative to the checkout. */
export interface Document {
  path: string;
  content: unknown;
}

/** The text as it is checked in: formatted as prettier formats it. */
export function documentText({ content }: Document): Promise<string> {
  return format(JSON.stringify(content), { parser: 'json', printWidth: 100 });
}

export async function writeDocuments(documents: readonly Document[]): Promise<void> {
  for (const document of documents)
    writeFileSync(join(CHECKOUT, document.path), await documentText(document));
}
